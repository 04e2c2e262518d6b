// Config to source: the SM 10.0 and 10.3 kernel for block-scaled operands.
#pragma once

#include "kernels/kernel_source.hpp"
#include "plan/plan.hpp"
#include "wgrad/sm100_scaled/config.hpp"

namespace wgrad::kernels::sm100_scaled {

/// `arch`: 100 or 103. An image runs on its own architecture alone.
KernelSource source(const shared::sm100_scaled::Config& config, int arch);

/// KernelFamily::source.
KernelSource source_of(const plan::Plan& plan);

}  // namespace wgrad::kernels::sm100_scaled
