// The kernels that the library has for the emulated machine; none where it was built without.
#pragma once

#include <vector>

#include "kernels/emulated_kernel.hpp"
#include "wgrad/sm90_fp8/config.hpp"

namespace wgrad::kernels::sm90_fp8 {

using CompiledKernel = kernels::CompiledKernel<shared::Fp8Config>;

const std::vector<CompiledKernel>& emulated_kernels();

}  // namespace wgrad::kernels::sm90_fp8
