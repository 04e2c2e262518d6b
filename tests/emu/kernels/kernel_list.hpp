// The kernels a fuzzing or mutation program was built with.
#pragma once

#include <vector>

#include "kernels/sm90/emulated/kernels.hpp"

namespace wgrad::test {

const std::vector<kernels::sm90::CompiledKernel>& kernels();

}  // namespace wgrad::test
