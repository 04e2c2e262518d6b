// The contract's limits on device data: offsets and output addresses, once they can be read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::validate {

/// Offsets must not be negative, decrease or exceed T; FP4 experts begin at even tokens; scale
/// storage must hold every expert; `wgrad_ptrs` (empty when dense) must be non-null, aligned and
/// apart. Spans are host copies. Each reason names the expert and the values.
std::vector<Reason> broken_data_rules(const Problem& problem, const Operands& operands,
                                      std::span<const std::int32_t> offsets,
                                      std::span<const std::int64_t> wgrad_ptrs);

/// The same where offsets and wgrad_ptrs are host memory.
std::vector<Reason> broken_host_data_rules(const Problem& problem, const Operands& operands);

}  // namespace wgrad::validate
