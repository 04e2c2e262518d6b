// Kernels for block-scaled operands compiled for the emulated machine; none where the library was
// built without. Without public headers: device code beside it has its own OutputMode.
#pragma once

#include <vector>

#include "wgrad/sm90_scaled/config.hpp"

namespace wgrad::kernels::sm90_scaled {

struct CompiledKernel {
  shared::ScaledConfig config;  ///< fixed at compile time
  void (*run)(const void* parameters) = nullptr;
};

const std::vector<CompiledKernel>& emulated_kernels();

}  // namespace wgrad::kernels::sm90_scaled
