// The kernels for block-scaled operands that the library has for the emulated SM 10.0.
#include "kernels/sm100_scaled/emulated/kernels.hpp"

#include <utility>

#include "kernels/sm100_scaled/emulated/configs.hpp"
#include "kernels/sm100_scaled/emulated/table.hpp"

namespace wgrad::kernels::sm100_scaled {

const std::vector<CompiledKernel>& emulated_kernels() {
  using emulated_configs::kConfigs;
  static const std::vector<CompiledKernel> kAll =
      compiled<kConfigs>(std::make_index_sequence<kConfigs.size()>());
  return kAll;
}

}  // namespace wgrad::kernels::sm100_scaled
