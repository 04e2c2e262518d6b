// The contract's limits on one call's operands that the host can see without reading device data.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::validate {

/// One operand's place in memory, with defaults resolved.
struct OperandView {
  std::int64_t rows = 0;    ///< extent of the strided axis
  std::int64_t width = 0;   ///< extent of the contiguous axis
  std::int64_t ld = 0;      ///< elements between rows; `width` where packed
  bool ld_matters = false;  ///< false: ragged K-major, or fewer than two rows
};

OperandView view_a(const Problem& problem, const Operands& operands);
OperandView view_b(const Problem& problem, const Operands& operands);

/// Adds to `out` what is wrong with the leading dimensions of A and B, where there are tokens.
void check_leading_dimensions(std::vector<Reason>& out, const Problem& problem,
                              const Operands& operands);

/// Adds to `out` every input that shares bytes with an output, of a call whose extents and leading
/// dimensions break no rule.
/// `outputs` are the addresses of stretches of `bytes` each: one a dense call, one an expert a
/// discrete one.
void check_overlaps(std::vector<Reason>& out, const Problem& problem, const Operands& operands,
                    std::span<const std::int64_t> outputs, std::int64_t bytes);

/// Every rule that `operands` break for a `problem` with which operands_can_be_judged(). Allocates
/// nothing when empty.
std::vector<Reason> broken_rules(const Problem& problem, const Operands& operands,
                                 std::int64_t workspace_bytes);

}  // namespace wgrad::validate
