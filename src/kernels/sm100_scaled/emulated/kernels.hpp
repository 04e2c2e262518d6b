// The kernels that the library has for the emulated machine; none where it was built without.
#pragma once

#include <vector>

#include "kernels/emulated_kernel.hpp"
#include "wgrad/sm100_scaled/config.hpp"

namespace wgrad::kernels::sm100_scaled {

using CompiledKernel = kernels::CompiledKernel<shared::sm100_scaled::Config>;

const std::vector<CompiledKernel>& emulated_kernels();

}  // namespace wgrad::kernels::sm100_scaled
