// The kernels for FP8 operands that the library has for the emulated machine.
#include "kernels/sm90_fp8/emulated/kernels.hpp"

#include <utility>

#include "kernels/sm90_fp8/emulated/configs.hpp"
#include "wgrad/sm90_fp8/wgrad_sm90_fp8.cuh"

namespace wgrad::kernels::sm90_fp8 {
namespace {

using emulated_configs::kConfigs;

template <std::size_t kIndex>
void run_kernel(const void* parameters) {
  device::wgrad_sm90_fp8<kConfigs[kIndex]>(*static_cast<const shared::Fp8Params*>(parameters));
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

}  // namespace wgrad::kernels::sm90_fp8
