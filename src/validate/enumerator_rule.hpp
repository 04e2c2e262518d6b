// The one rule of every enumeration.
#pragma once

#include <fmt/format.h>

#include <vector>

#include "core/enumerators.hpp"
#include "wgrad/support.hpp"

namespace wgrad::validate {

/// Appends a reason where `value` is none of its type's enumerators.
template <typename Enum>
void check_enumerator(std::vector<Reason>& out, const char* field, Enum value) {
  core::check_enumerator(field, value, [&](const char* name, int got, int last) {
    out.push_back({"enumerator", name, fmt::format("{}", got),
                   fmt::format("an enumerator, from 0 to {}", last)});
  });
}

}  // namespace wgrad::validate
