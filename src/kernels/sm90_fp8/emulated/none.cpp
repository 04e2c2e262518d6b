// For builds without the emulated machine.
#include "kernels/sm90_fp8/emulated/family.hpp"
#include "kernels/sm90_fp8/emulated/kernels.hpp"

namespace wgrad::kernels::sm90_fp8 {

const EmulatedFamily* emulated() {
  return nullptr;
}

const std::vector<CompiledKernel>& emulated_kernels() {
  static const std::vector<CompiledKernel> kNone;
  return kNone;
}

}  // namespace wgrad::kernels::sm90_fp8
