// What one launch passes to a kernel that decodes.
#pragma once

#include "wgrad/shared/element.hpp"
#include "wgrad/shared/params.hpp"

namespace wgrad::shared {

struct ScaledParams : KernelParams {
  u64 sfa;  // scale factors, bytes; ScaleStorage::kAtoms: 16-byte aligned
  u64 sfb;
  i64 sfa_cols;  // columns of the scale tensors
  i64 sfb_cols;
  u64 global_a;  // const float[experts], ScaledConfig::global_scale
  u64 global_b;
  i64 ld_a;  // elements between rows of a kKMajor operand
  i64 ld_b;
  u32 rows_a;  // 1: no tensor map describes its rows, they are copied one by one (kKMajor)
  u32 rows_b;
};

// Whether the copy engine takes K-major rows of this pitch.
constexpr bool takes_rows(ElementType t, i64 ld) {
  return ld * element_bits(t) / 8 % 16 == 0;
}

static_assert(sizeof(ScaledParams) ==
              sizeof(KernelParams) + 128);  // the host and NVRTC lay it out alike

}  // namespace wgrad::shared
