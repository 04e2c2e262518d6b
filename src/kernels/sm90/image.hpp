// One launch of the SM90 kernel: parameters, tensor maps, grid.
#pragma once

#include "kernels/launch_image.hpp"
#include "plan/plan.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::kernels::sm90 {

/// Elements between rows for a tensor map: the operand's own where it matters, else the least that
/// a map can hold.
std::int64_t map_ld_a(const Problem& problem, const Operands& operands);
std::int64_t map_ld_b(const Problem& problem, const Operands& operands);

/// KernelFamily::image.
LaunchImage image(const Problem& problem, const plan::Plan& plan, const Operands& operands);

}  // namespace wgrad::kernels::sm90
