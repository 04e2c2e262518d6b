// For builds without the emulated machine.
#include "kernels/sm100/emulated/family.hpp"
#include "kernels/sm100/emulated/kernels.hpp"

namespace wgrad::kernels::sm100 {

const EmulatedFamily* emulated() {
  return nullptr;
}

const std::vector<CompiledKernel>& emulated_kernels() {
  static const std::vector<CompiledKernel> kNone;
  return kNone;
}

const std::vector<CompiledKernel>& emulated_traced_kernels() {
  return emulated_kernels();
}

}  // namespace wgrad::kernels::sm100
