// Compiles the kernels of a table of configurations for the emulated machine.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/sm100/emulated/kernels.hpp"
#include "wgrad/sm100/wgrad_sm100.cuh"

namespace wgrad::kernels::sm100 {

template <shared::sm100::Config kConfig>
void run_kernel(const void* parameters) {
  device::wgrad_sm100<kConfig>(*static_cast<const shared::KernelParams*>(parameters));
}

/// Entries kIndex... of `kConfigs`, an array with static storage.
template <const auto& kConfigs, std::size_t... kIndex>
std::vector<CompiledKernel> compiled(std::index_sequence<kIndex...>) {
  return {CompiledKernel{kConfigs[kIndex], &run_kernel<kConfigs[kIndex]>}...};
}

}  // namespace wgrad::kernels::sm100
