// The kernels for block-scaled operands that the library has for the emulated machine.
#include "kernels/sm90_scaled/emulated/kernels.hpp"

#include <utility>

#include "kernels/sm90_scaled/emulated/configs.hpp"
#include "wgrad/sm90_scaled/wgrad_sm90_scaled.cuh"

namespace wgrad::kernels::sm90_scaled {
namespace {

using emulated_configs::kConfigs;

template <std::size_t kIndex>
void run_kernel(const void* parameters) {
  device::wgrad_sm90_scaled<kConfigs[kIndex]>(
      *static_cast<const shared::ScaledParams*>(parameters));
}

template <std::size_t... kIndex>
std::vector<CompiledKernel> compiled(std::index_sequence<kIndex...>) {
  return {CompiledKernel{kConfigs[kIndex], &run_kernel<kIndex>}...};
}

}  // namespace

const std::vector<CompiledKernel>& emulated_kernels() {
  static const std::vector<CompiledKernel> kAll =
      compiled(std::make_index_sequence<kConfigs.size()>());
  return kAll;
}

}  // namespace wgrad::kernels::sm90_scaled
