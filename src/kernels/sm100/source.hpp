// Config to source: the SM 10.0 and 10.3 kernel.
#pragma once

#include "kernels/kernel_source.hpp"
#include "plan/plan.hpp"
#include "wgrad/sm100/config.hpp"

namespace wgrad::kernels::sm100 {

/// `arch`: 100 or 103. An image runs on its own architecture alone.
KernelSource source(const shared::sm100::Config& config, int arch);

/// KernelFamily::source.
KernelSource source_of(const plan::Plan& plan);

}  // namespace wgrad::kernels::sm100
