// The family for FP8 operands on the emulated machine.
#pragma once

namespace wgrad::kernels {

struct EmulatedFamily;

namespace sm90_fp8 {

/// KernelFamily::emulated.
const EmulatedFamily* emulated();

}  // namespace sm90_fp8
}  // namespace wgrad::kernels
