// Plans whose kernels record what their warps do.
#pragma once

#include "plan/plan.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::kernels::sm90 {

/// KernelFamily::traced. On an emulated device the kernel that the planner chooses for a GPU like
/// it, where that was compiled; else what should be fastest of the others.
plan::Plan traced(const Problem& problem, const plan::Plan& plan, const DeviceSpec& device);

}  // namespace wgrad::kernels::sm90
