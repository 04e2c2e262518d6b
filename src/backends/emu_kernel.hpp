// A kernel compiled for the emulated machine. Without public headers: device code beside it has its
// own OutputMode and InputType.
#pragma once

#include "wgrad/shared/params.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::backends {

struct EmuKernel {
  shared::Config config;  ///< fixed at compile time
  void (*run)(const shared::KernelParams&) = nullptr;
};

}  // namespace wgrad::backends
