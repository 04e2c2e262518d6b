// The SM 10.0 kernels that a fuzzing or mutation program was built with.
#pragma once

#include <vector>

#include "kernels/sm100/emulated/kernels.hpp"

namespace wgrad::test {

const std::vector<kernels::sm100::CompiledKernel>& sm100_kernels();

}  // namespace wgrad::test
