// The SM90 family on the emulated machine.
#pragma once

#include "kernels/emulated.hpp"

namespace wgrad::kernels::sm90 {

extern const EmulatedFamily kEmulated;

}  // namespace wgrad::kernels::sm90
