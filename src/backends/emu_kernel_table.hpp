// Compiles the kernels of a table of configurations for the emulated machine.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "backends/emu_kernel.hpp"
#include "wgrad/sm90/wgrad_sm90.cuh"

namespace wgrad::backends {

template <shared::Config kConfig>
void run_kernel(const shared::KernelParams& params) {
  device::wgrad_sm90<kConfig>(params);
}

/// Entries kIndex... of `kConfigs`, an array with static storage.
template <const auto& kConfigs, std::size_t... kIndex>
std::vector<EmuKernel> compiled(std::index_sequence<kIndex...>) {
  return {EmuKernel{kConfigs[kIndex], &run_kernel<kConfigs[kIndex]>}...};
}

}  // namespace wgrad::backends
