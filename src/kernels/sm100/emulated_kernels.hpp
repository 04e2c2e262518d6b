// The kernels that the library has for the emulated machine; none where it was built without.
#pragma once

#include <vector>

#include "kernels/sm100/emulated_kernel.hpp"

namespace wgrad::kernels::sm100 {

const std::vector<CompiledKernel>& emulated_kernels();

}  // namespace wgrad::kernels::sm100
