// Plans whose kernels record what their warps do, and what they recorded.
#pragma once

#include <cstddef>
#include <span>

#include "plan/plan.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/trace.hpp"

namespace wgrad::kernels::sm100 {

/// KernelFamily::traced; kernels/traced_choice.hpp says which one an emulated device runs.
plan::Plan traced(const Problem& problem, const plan::Plan& plan, const DeviceSpec& device);

/// KernelFamily::read_trace.
Timeline timeline(const plan::Plan& plan, std::span<const std::byte> workspace);

}  // namespace wgrad::kernels::sm100
