// The kernels that the emu backend was built with.
#pragma once

#include <vector>

#include "backends/emu_kernel.hpp"

namespace wgrad::backends {

const std::vector<EmuKernel>& emu_kernels();

/// Kernels as large as the planner's, with Config::trace: for timelines.
const std::vector<EmuKernel>& emu_traced_kernels();

}  // namespace wgrad::backends
