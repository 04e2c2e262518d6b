// The kernels of the fuzzer for block-scaled operands; with WGRAD_ONLY_KERNEL one of them, in its
// place.
#include <utility>

#include "emu/fuzz/scaled_case.hpp"
#include "kernels/sm90_scaled/emulated/configs.hpp"
#include "wgrad/sm90_scaled/wgrad_sm90_scaled.cuh"

namespace wgrad::test {
namespace {

using kernels::sm90_scaled::CompiledKernel;
using kernels::sm90_scaled::emulated_configs::kConfigs;

template <std::size_t kIndex>
void run_kernel(const void* parameters) {
  const auto& params = *static_cast<const shared::ScaledParams*>(parameters);
#ifdef WGRAD_ONLY_KERNEL
  if constexpr (kIndex != WGRAD_ONLY_KERNEL) return;
  device::wgrad_sm90_scaled<kConfigs[WGRAD_ONLY_KERNEL]>(params);
#else
  device::wgrad_sm90_scaled<kConfigs[kIndex]>(params);
#endif
}

template <std::size_t... kIndex>
std::vector<kernels::sm90_scaled::CompiledKernel> compiled(std::index_sequence<kIndex...>) {
  return {kernels::sm90_scaled::CompiledKernel{kConfigs[kIndex], &run_kernel<kIndex>}...};
}

}  // namespace

const std::vector<kernels::sm90_scaled::CompiledKernel>& scaled_kernels() {
  static const auto kAll = compiled(std::make_index_sequence<kConfigs.size()>());
  return kAll;
}
#ifdef WGRAD_ONLY_KERNEL
int only_scaled_kernel() {
  return WGRAD_ONLY_KERNEL;
}
#else
int only_scaled_kernel() {
  return -1;
}
#endif

}  // namespace wgrad::test
