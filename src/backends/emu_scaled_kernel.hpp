// Kernels for block-scaled operands compiled for the emulated machine. Without public headers:
// device code beside it has its own OutputMode and InputType.
#pragma once

#include <vector>

#include "wgrad/sm90_scaled/config.hpp"
#include "wgrad/sm90_scaled/params.hpp"

namespace wgrad::backends {

struct ScaledEmuKernel {
  shared::ScaledConfig config;  ///< fixed at compile time
  void (*run)(const shared::ScaledParams&) = nullptr;
};

/// Those that the emu backend was built with.
const std::vector<ScaledEmuKernel>& emu_scaled_kernels();

}  // namespace wgrad::backends
