// The kernels that the library has for the emulated machine; none where it was built without.
#pragma once

#include <vector>

#include "kernels/sm90/emulated_kernel.hpp"

namespace wgrad::kernels::sm90 {

const std::vector<CompiledKernel>& emulated_kernels();

/// Kernels as large as the planner's, with Config::trace: for timelines.
const std::vector<CompiledKernel>& emulated_traced_kernels();

}  // namespace wgrad::kernels::sm90
