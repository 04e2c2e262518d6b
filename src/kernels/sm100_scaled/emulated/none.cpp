// For builds without the emulated machine.
#include "kernels/sm100_scaled/emulated/family.hpp"
#include "kernels/sm100_scaled/emulated/kernels.hpp"

namespace wgrad::kernels::sm100_scaled {

const EmulatedFamily* emulated() {
  return nullptr;
}

const std::vector<CompiledKernel>& emulated_kernels() {
  static const std::vector<CompiledKernel> kNone;
  return kNone;
}

}  // namespace wgrad::kernels::sm100_scaled
