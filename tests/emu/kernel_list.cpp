// WGRAD_ONLY_KERNEL builds one of the configurations alone.
#include "emu/kernel_list.hpp"

#include <utility>

#include "emu/kernel_configs.hpp"
#include "wgrad/kernels/wgrad_sm90.cuh"

namespace wgrad::test {
namespace {

template <shared::Config kConfig>
void run_kernel(const shared::KernelParams& params) {
  device::wgrad_sm90<kConfig>(params);
}

template <std::size_t... kIndex>
std::vector<backends::EmuKernel> all(std::index_sequence<kIndex...>) {
  return {{kKernelConfigs[kIndex], &run_kernel<kKernelConfigs[kIndex]>}...};
}

}  // namespace

const std::vector<backends::EmuKernel>& kernels() {
#ifdef WGRAD_ONLY_KERNEL
  static const auto kAll = all(std::index_sequence<WGRAD_ONLY_KERNEL>());
#else
  static const auto kAll = all(std::make_index_sequence<std::size(kKernelConfigs)>());
#endif
  return kAll;
}

}  // namespace wgrad::test
