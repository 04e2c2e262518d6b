// What the SM90 kernel's tensor maps ask of one call's operands, beyond the contract.
#pragma once

#include <vector>

#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::launch {

/// Elements between rows for a tensor map: the operand's own where it matters, else the least that
/// a map can hold.
std::int64_t map_ld_a(const Problem& problem, const Operands& operands);
std::int64_t map_ld_b(const Problem& problem, const Operands& operands);

/// Allocates nothing when empty.
std::vector<Reason> operand_limits(const Problem& problem, const Operands& operands);

}  // namespace wgrad::launch
