// The family for block-scaled operands on the emulated machine.
#pragma once

#include "kernels/emulated.hpp"

namespace wgrad::kernels::sm90_scaled {

extern const EmulatedFamily kEmulated;

}  // namespace wgrad::kernels::sm90_scaled
