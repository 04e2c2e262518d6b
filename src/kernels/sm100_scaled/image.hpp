// One launch of the SM 10.0 and 10.3 kernel for block-scaled operands.
#pragma once

#include "kernels/launch_image.hpp"
#include "plan/plan.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::kernels::sm100_scaled {

/// KernelFamily::image.
LaunchImage image(const Problem& problem, const plan::Plan& plan, const Operands& operands);

}  // namespace wgrad::kernels::sm100_scaled
