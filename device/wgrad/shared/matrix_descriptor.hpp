// The 64-bit shared memory descriptor of tcgen05.mma and tcgen05.cp. PTX ISA, 9.7.16.4.1 ("Shared
// memory descriptor") and 9.7.16.3 (layouts). Not wgmma's: the swizzle has 3 bits and other codes,
// and bits 46-48 hold 0b001.
#pragma once

#include "wgrad/shared/types.hpp"

namespace wgrad::shared {

enum class MatrixSwizzle : u8 { kNone = 0, k128 = 2, k64 = 4, k32 = 6 };

// Byte offsets, multiples of 16 below 2^18.
//   K-major, swizzled: `stride` between groups of 8 rows; `leading` is unused.
//   K-major, no swizzle: `stride` between groups of 8 rows, `leading` between 16-byte columns.
//   MN-major, swizzled: `stride` between groups of 8 K, `leading` between swizzle-wide groups of M
//   or N.
//   MN-major, no swizzle: `stride` between groups of 16 bytes of M or N, `leading` between groups
//   of 8 K.
struct MatrixForm {
  u32 leading;
  u32 stride;
  MatrixSwizzle swizzle;
};

// Operand tiles as a tensor map with 128-byte swizzle leaves them. Row groups of a K-major box (128
// bytes of K, any number of rows) lie behind each other.
inline constexpr MatrixForm kKMajor128{0, 1024, MatrixSwizzle::k128};
// Boxes of 128 bytes of M or N, by `depth` of K (a multiple of 8), one behind the other.
constexpr MatrixForm mn_major_128(u32 depth) {
  return {depth * 128, 1024, MatrixSwizzle::k128};
}
// Atoms of scale factors: 8 rows of 16 bytes are 128 bytes, for tcgen05.cp.
inline constexpr MatrixForm kScaleAtoms{0, 128, MatrixSwizzle::kNone};

constexpr u64 descriptor_bits(const MatrixForm& form) {
  return u64{form.leading >> 4} << 16 | u64{form.stride >> 4} << 32 | u64{1} << 46 |
         u64{static_cast<u8>(form.swizzle)} << 61;
}
// `address`: shared address, a multiple of 16. A swizzled pattern begins at a multiple of 1024 (128
// bytes), 512 (64) or 256 (32); a tile inside a pattern's row of K is that much further (32 bytes a
// step, K-major), with the same bits.
constexpr u64 matrix_descriptor(const MatrixForm& form, u32 address) {
  return descriptor_bits(form) | (address >> 4 & 0x3fff);
}

}  // namespace wgrad::shared
