// One launch of the SM90 kernel that multiplies FP8: parameters, tensor maps, grid.
#pragma once

#include "kernels/launch_image.hpp"
#include "plan/plan.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::kernels::sm90_fp8 {

/// KernelFamily::image.
LaunchImage image(const Problem& problem, const plan::Plan& plan, const Operands& operands);

}  // namespace wgrad::kernels::sm90_fp8
