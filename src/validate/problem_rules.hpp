// The contract's limits on a Problem, each stated once.
#pragma once

#include <vector>

#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::validate {

/// Bytes to which rows and addresses are aligned.
constexpr std::int64_t kAlignment = 16;
/// Of E, M, N and T: kernels count in int32, and offsets are int32.
constexpr std::int64_t kMaxExtent = 2147483647;
/// No tensor spans more elements, so that byte offsets fit 63 bits.
constexpr std::int64_t kMaxSpan = std::int64_t{1} << 60U;

/// Every rule of the contract that `problem` breaks, whatever the device.
std::vector<Reason> broken_rules(const Problem& problem);

/// Whether the rules of operands mean something for it, though it may break others.
bool operands_can_be_judged(const Problem& problem);

}  // namespace wgrad::validate
