// Memory of a CUDA device for a run, through the driver that is found at run time.
#pragma once

#include <memory>

#include "cli/memory.hpp"

namespace wgrad::cli {

/// On device `ordinal`. Throws RuntimeError where there is no driver or no such device.
std::unique_ptr<Memory> cuda_memory(int ordinal);

}  // namespace wgrad::cli
