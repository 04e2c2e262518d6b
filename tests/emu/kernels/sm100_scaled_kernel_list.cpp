// The kernels of the fuzzer for block-scaled operands on SM 10.0; with WGRAD_ONLY_KERNEL one of
// them, in its place.
#include "emu/kernels/sm100_scaled_kernel_list.hpp"

#include <utility>

#include "emu/fuzz/scaled_case.hpp"
#include "kernels/sm100_scaled/emulated/configs.hpp"
#include "kernels/sm100_scaled/emulated/table.hpp"

namespace wgrad::test {
namespace {

using kernels::sm100_scaled::CompiledKernel;
using kernels::sm100_scaled::emulated_configs::kConfigs;

#ifdef WGRAD_ONLY_KERNEL
constexpr int kOnly = WGRAD_ONLY_KERNEL;
#else
constexpr int kOnly = -1;
#endif

template <std::size_t... kIndex>
std::vector<CompiledKernel> kernels_of(std::index_sequence<kIndex...>) {
  std::vector<CompiledKernel> all = {CompiledKernel{kConfigs[kIndex], nullptr}...};
  if constexpr (kOnly < 0)
    return kernels::sm100_scaled::compiled<kConfigs>(std::index_sequence<kIndex...>());
  constexpr std::size_t kOne = kOnly < 0 ? 0 : kOnly;
  all[kOne].run = &kernels::sm100_scaled::run_kernel<kConfigs[kOne]>;
  return all;
}

}  // namespace

const std::vector<CompiledKernel>& sm100_scaled_kernels() {
  static const auto kAll = kernels_of(std::make_index_sequence<kConfigs.size()>());
  return kAll;
}
int only_scaled_kernel() {
  return kOnly;
}

}  // namespace wgrad::test
