// What one launch passes to a kernel for block-scaled operands, and how their scale factors lie.
#pragma once

#include "wgrad/shared/element.hpp"
#include "wgrad/shared/params.hpp"

namespace wgrad::shared {

// How scale factors lie in memory: contract, "scale storage".
enum class ScaleStorage : u8 {
  kAtoms,    // 128 rows x 4 columns in 512 bytes, 16-byte aligned: copied in bulk
  kCompact,  // rows of any pitch and alignment: read byte by byte
};

constexpr const char* name_of(ScaleStorage storage) {
  switch (storage) {
    case ScaleStorage::kAtoms:
      return "ScaleStorage::kAtoms";
    case ScaleStorage::kCompact:
      return "ScaleStorage::kCompact";
  }
  return nullptr;
}

inline constexpr i32 kScaleAtomRows = 128;
inline constexpr i32 kScaleAtomColumns = 4;
inline constexpr i32 kScaleAtomBytes = kScaleAtomRows * kScaleAtomColumns;
inline constexpr i32 kCopyUnit = 16;            // bytes: where a box may start
inline constexpr u32 kColumnCheckpoints = 128;  // common/scale_columns.cuh

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
