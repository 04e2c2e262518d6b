// What a traced SM90 kernel left in its workspace, as a timeline.
#pragma once

#include <cstddef>
#include <span>

#include "plan/plan.hpp"
#include "wgrad/trace.hpp"

namespace wgrad::kernels::sm90 {

/// KernelFamily::read_trace.
Timeline timeline(const plan::Plan& plan, std::span<const std::byte> workspace);

}  // namespace wgrad::kernels::sm90
