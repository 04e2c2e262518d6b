// What the SM 10.0 and 10.3 kernel for block-scaled operands cannot do beyond the contract: each
// limit and its sentence once.
#pragma once

#include <vector>

#include "wgrad/device_spec.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::kernels::sm100_scaled {

/// KernelFamily::limits.
std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device);

/// KernelFamily::check_operands: what the tensor maps ask of one call.
void check_operands(std::vector<Reason>& out, const Problem& problem, const Operands& operands);

}  // namespace wgrad::kernels::sm100_scaled
