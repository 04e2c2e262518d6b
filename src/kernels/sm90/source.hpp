// Config to source: the SM90 kernel.
#pragma once

#include "kernels/kernel_source.hpp"
#include "plan/plan.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::kernels::sm90 {

KernelSource source(const shared::Config& config);

/// KernelFamily::source.
KernelSource source_of(const plan::Plan& plan);

}  // namespace wgrad::kernels::sm90
