// Kernels of the fuzzer for block-scaled operands on SM 10.0.
#pragma once

#include <vector>

#include "kernels/sm100_scaled/emulated/kernels.hpp"

namespace wgrad::test {

/// With WGRAD_ONLY_KERNEL that one alone was compiled.
const std::vector<kernels::sm100_scaled::CompiledKernel>& sm100_scaled_kernels();

}  // namespace wgrad::test
