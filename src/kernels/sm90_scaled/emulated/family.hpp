// The family for block-scaled operands on the emulated machine.
#pragma once

namespace wgrad::kernels {

struct EmulatedFamily;

namespace sm90_scaled {

/// KernelFamily::emulated.
const EmulatedFamily* emulated();

}  // namespace sm90_scaled
}  // namespace wgrad::kernels
