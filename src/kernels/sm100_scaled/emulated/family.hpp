// The SM 10.0 family for block-scaled operands on the emulated machine.
#pragma once

namespace wgrad::kernels {

struct EmulatedFamily;

namespace sm100_scaled {

/// KernelFamily::emulated.
const EmulatedFamily* emulated();

}  // namespace sm100_scaled
}  // namespace wgrad::kernels
