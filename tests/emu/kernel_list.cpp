// WGRAD_ONLY_KERNEL builds one of the configurations alone.
#include "emu/kernel_list.hpp"

#include <utility>

#include "backends/emu_kernel_table.hpp"
#include "emu/kernel_configs.hpp"

namespace wgrad::test {

const std::vector<backends::EmuKernel>& kernels() {
#ifdef WGRAD_ONLY_KERNEL
  static const auto kAll =
      backends::compiled<kKernelConfigs>(std::index_sequence<WGRAD_ONLY_KERNEL>());
#else
  static const auto kAll =
      backends::compiled<kKernelConfigs>(std::make_index_sequence<std::size(kKernelConfigs)>());
#endif
  return kAll;
}

}  // namespace wgrad::test
