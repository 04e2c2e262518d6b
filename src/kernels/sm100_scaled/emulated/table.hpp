// Compiles the kernels of a table of configurations for the emulated machine.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/sm100_scaled/emulated/kernels.hpp"
#include "wgrad/sm100_scaled/wgrad_sm100_scaled.cuh"

namespace wgrad::kernels::sm100_scaled {

template <shared::sm100_scaled::Config kConfig>
void run_kernel(const void* parameters) {
  device::wgrad_sm100_scaled<kConfig>(*static_cast<const shared::ScaledParams*>(parameters));
}

/// Entries kIndex... of `kConfigs`, an array with static storage.
template <const auto& kConfigs, std::size_t... kIndex>
std::vector<CompiledKernel> compiled(std::index_sequence<kIndex...>) {
  return {CompiledKernel{kConfigs[kIndex], &run_kernel<kConfigs[kIndex]>}...};
}

}  // namespace wgrad::kernels::sm100_scaled
