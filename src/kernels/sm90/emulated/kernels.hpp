// The kernels that the library has for the emulated machine; none where it was built without.
#pragma once

#include <vector>

#include "kernels/emulated_kernel.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::kernels::sm90 {

using CompiledKernel = kernels::CompiledKernel<shared::Config>;

const std::vector<CompiledKernel>& emulated_kernels();

/// Kernels as large as the planner's, with Config::trace: for timelines.
const std::vector<CompiledKernel>& emulated_traced_kernels();

}  // namespace wgrad::kernels::sm90
