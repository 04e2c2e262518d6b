// A kernel compiled for the emulated machine. Without public headers: device code beside it has its
// own OutputMode and InputType.
#pragma once

#include "wgrad/sm100/config.hpp"

namespace wgrad::kernels::sm100 {

struct CompiledKernel {
  shared::sm100::Config config;  ///< fixed at compile time
  void (*run)(const void* parameters) = nullptr;
};

}  // namespace wgrad::kernels::sm100
