// A kernel compiled for the emulated machine. Without public headers: device code beside it has its
// own OutputMode and InputType.
#pragma once

#include "wgrad/sm90/config.hpp"

namespace wgrad::kernels::sm90 {

struct CompiledKernel {
  shared::Config config;  ///< fixed at compile time
  void (*run)(const void* parameters) = nullptr;
};

}  // namespace wgrad::kernels::sm90
