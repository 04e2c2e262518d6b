// WGRAD_ONLY_KERNEL builds one of the configurations alone.
#include "emu/kernels/kernel_list.hpp"

#include <utility>

#include "emu/kernels/kernel_configs.hpp"
#include "kernels/sm90/emulated/table.hpp"

namespace wgrad::test {

const std::vector<kernels::sm90::CompiledKernel>& kernels() {
#ifdef WGRAD_ONLY_KERNEL
  static const auto kAll =
      kernels::sm90::compiled<kKernelConfigs>(std::index_sequence<WGRAD_ONLY_KERNEL>());
#else
  static const auto kAll = kernels::sm90::compiled<kKernelConfigs>(
      std::make_index_sequence<std::size(kKernelConfigs)>());
#endif
  return kAll;
}

}  // namespace wgrad::test
