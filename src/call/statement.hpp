// A contract but for its place, as named values: for a front end whose operators are made where
// nothing but such values arrive, as the attributes of XLA's custom calls do.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "call/contract.hpp"

namespace wgrad::call {

using Value = std::variant<bool, std::int64_t, std::string>;
using NamedValues = std::vector<std::pair<std::string_view, Value>>;

/// Every field by its name, enumerators as the strings Python uses. A field that is new in one of
/// the structures does not compile before it is named in statement.cpp.
NamedValues values_of(const Contract& contract);

/// Sets a value to what that name stands for, of the type it has.
using Ask = std::function<void(std::string_view name, Value& value)>;

/// The inverse of values_of(), on the CPU. Throws ValueError for a text without a meaning, and what
/// `ask` throws.
Contract contract_of_values(const Ask& ask);

}  // namespace wgrad::call
