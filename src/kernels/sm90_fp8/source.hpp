// The SM90 kernel that multiplies FP8 as text for the compiler.
#pragma once

#include "kernels/kernel_source.hpp"
#include "plan/plan.hpp"
#include "wgrad/sm90_fp8/config.hpp"

namespace wgrad::kernels::sm90_fp8 {

KernelSource source(const shared::Fp8Config& config);

/// KernelFamily::source.
KernelSource source_of(const plan::Plan& plan);

}  // namespace wgrad::kernels::sm90_fp8
