// What one launch passes to a kernel that multiplies FP8 operands.
#pragma once

#include "wgrad/shared/params.hpp"

namespace wgrad::shared {

struct Fp8Params : KernelParams {
  u64 scales_a;  // const float[experts][m]
  u64 scales_b;  // const float[experts][n]
  u64 unused[6];
};

static_assert(sizeof(Fp8Params) ==
              sizeof(KernelParams) + 64);  // the host and NVRTC lay it out alike

}  // namespace wgrad::shared
