// The SM90 family on the emulated machine.
#pragma once

namespace wgrad::kernels {

struct EmulatedFamily;

namespace sm90 {

/// KernelFamily::emulated.
const EmulatedFamily* emulated();

}  // namespace sm90
}  // namespace wgrad::kernels
