// The kernels a fuzzing or mutation program was built with.
#pragma once

#include <vector>

#include "backends/emu_kernel.hpp"

namespace wgrad::test {

const std::vector<backends::EmuKernel>& kernels();

}  // namespace wgrad::test
