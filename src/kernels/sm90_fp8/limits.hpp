// What the SM90 kernel that multiplies FP8 cannot do beyond the contract: each limit and its
// sentence once.
#pragma once

#include <vector>

#include "wgrad/device_spec.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::kernels::sm90_fp8 {

/// KernelFamily::limits.
std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device);

/// KernelFamily::check_operands.
void check_operands(std::vector<Reason>& out, const Problem& problem, const Operands& operands);

}  // namespace wgrad::kernels::sm90_fp8
