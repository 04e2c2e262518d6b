// WGRAD_ONLY_KERNEL builds one of the configurations alone.
#include "emu/kernels/sm100_kernel_list.hpp"

#include <utility>

#include "emu/kernels/sm100_kernel_configs.hpp"
#include "kernels/sm100/emulated/table.hpp"

namespace wgrad::test {

const std::vector<kernels::sm100::CompiledKernel>& sm100_kernels() {
#ifdef WGRAD_ONLY_KERNEL
  static const auto kAll =
      kernels::sm100::compiled<kSm100Configs>(std::index_sequence<WGRAD_ONLY_KERNEL>());
#else
  static const auto kAll =
      kernels::sm100::compiled<kSm100Configs>(std::make_index_sequence<std::size(kSm100Configs)>());
#endif
  return kAll;
}

}  // namespace wgrad::test
