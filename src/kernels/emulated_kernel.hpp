// A kernel compiled for the emulated machine. Without public headers: device code beside it has its
// own OutputMode and InputType.
#pragma once

#include <vector>

namespace wgrad::kernels {

/// What every thread of a launch runs; `parameters` as the image has them.
using EmulatedKernel = void (*)(const void* parameters);

template <typename Config>
struct CompiledKernel {
  Config config;  ///< fixed at compile time
  EmulatedKernel run = nullptr;
};

/// The kernel compiled for that configuration; null: there is none.
template <typename Config>
EmulatedKernel kernel_of(const std::vector<CompiledKernel<Config>>& all, const Config& config) {
  for (const CompiledKernel<Config>& kernel : all) {
    if (kernel.config == config) return kernel.run;
  }
  return nullptr;
}

}  // namespace wgrad::kernels
