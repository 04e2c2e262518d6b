// Kernels that quantise, compiled for the emulated machine.
#pragma once

#include <vector>

#include "quantize/images.hpp"

namespace wgrad::quantize {

struct EmulatedKernel {
  KernelId id;
  void (*run)(const void* parameters) = nullptr;
};

/// Between them every source, order, format, major and option.
const std::vector<EmulatedKernel>& emulated_kernels();

}  // namespace wgrad::quantize
