// The SM 10.0 family on the emulated machine.
#pragma once

namespace wgrad::kernels {

struct EmulatedFamily;

namespace sm100 {

/// KernelFamily::emulated.
const EmulatedFamily* emulated();

}  // namespace sm100
}  // namespace wgrad::kernels
