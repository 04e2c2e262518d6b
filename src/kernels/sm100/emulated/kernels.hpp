// The kernels that the library has for the emulated machine; none where it was built without.
#pragma once

#include <vector>

#include "kernels/emulated_kernel.hpp"
#include "wgrad/sm100/config.hpp"

namespace wgrad::kernels::sm100 {

using CompiledKernel = kernels::CompiledKernel<shared::sm100::Config>;

const std::vector<CompiledKernel>& emulated_kernels();

/// Kernels as large as the planner's, with Config::trace: for timelines.
const std::vector<CompiledKernel>& emulated_traced_kernels();

}  // namespace wgrad::kernels::sm100
