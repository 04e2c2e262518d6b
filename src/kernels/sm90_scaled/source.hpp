// The SM90 kernel for block-scaled operands as text for the compiler.
#pragma once

#include "kernels/kernel_source.hpp"
#include "plan/plan.hpp"
#include "wgrad/sm90_scaled/config.hpp"

namespace wgrad::kernels::sm90_scaled {

KernelSource source(const shared::ScaledConfig& config);

/// KernelFamily::source.
KernelSource source_of(const plan::Plan& plan);

}  // namespace wgrad::kernels::sm90_scaled
