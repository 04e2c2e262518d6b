// The SM 10.0 family on the emulated machine.
#pragma once

#include "kernels/emulated.hpp"

namespace wgrad::kernels::sm100 {

extern const EmulatedFamily kEmulated;

}  // namespace wgrad::kernels::sm100
