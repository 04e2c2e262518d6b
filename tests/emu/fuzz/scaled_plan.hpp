// The plan with which a kernel of the fuzzer for block-scaled operands runs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "kernels/family.hpp"
#include "plan/plan.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::test {

/// Of kernel `index` of scaled_kernels(), on so many multiprocessors. Each fuzzer has its own.
plan::Plan scaled_plan(std::size_t index, const Problem& problem, int sms);

/// Whether a product of FP4 blocks has the exponent of their scale factors where its value is zero,
/// so that a large one takes places from the others' (emu/README.md, "tcgen05").
bool zeros_have_exponents();

template <typename Launch>
plan::Plan plan_of_family(std::string_view name, const Launch& launch) {
  plan::Plan plan;
  plan.backend = "emu";
  const auto all = kernels::families();
  plan.family =
      *std::find_if(all.begin(), all.end(), [&](const auto* f) { return f->name == name; });
  plan.config = launch;
  return plan;
}

}  // namespace wgrad::test
