// Operand tiles in shared memory as wgmma sees them. PTX: "wgmma matrix descriptor", "canonical
// layouts", 128-byte swizzle.
//   K-major:  row r is 128 bytes of 64 tokens; 8 rows a swizzle atom (1024 bytes)
//   MN-major: boxes of 64 columns, one 128-byte row a token; a multicast B arrives as two regions
//   of half the stage's tokens
#pragma once

#include "wgrad/arch/arch.cuh"

namespace wgrad::device {

inline constexpr u32 kAtomBytes = 8 * kSwizzleBytes;
inline constexpr u32 kStepTokens = kWindowTokens;
template <Config kConfig>
inline constexpr u32 kSteps = u32(kConfig.tile_k) / kStepTokens;  // of a stage

// Address of 16-byte chunk `chunk` of 128-byte row `row`, in a tile whose base is 1024-byte
// aligned.
WGRAD_DEVICE u32 swizzled(u32 tile, u32 row, u32 chunk) {
  return tile + row * u32{kSwizzleBytes} + ((chunk ^ (row % 8)) << 4);
}

// `group`: bytes between groups of 8 rows (K-major) or 8 tokens (MN-major). `columns`: bytes
// between 64-column blocks (MN-major only).
WGRAD_DEVICE u64 matrix_descriptor(u32 address, u32 columns, u32 group) {
  constexpr u64 kSwizzle128 = u64{1} << 62;
  return kSwizzle128 | (u64{group >> 4} << 32) | (u64{columns >> 4} << 16) |
         ((address & 0x3ffff) >> 4);
}

// One operand's stage tile. kBoxTokens: tokens of one box; kRows: its extent along M or N in this
// CTA.
template <OperandLayout kLayout, u32 kRows, u32 kBoxTokens>
struct OperandTile {
  static constexpr bool kMnMajor = is_mn_major(kLayout);
  static constexpr u32 kTranspose = kMnMajor ? 1 : 0;
  static constexpr u32 kBoxBytes = kBoxTokens * kSwizzleBytes;   // 64 columns, MN-major
  static constexpr u32 kRegionBytes = (kRows / 64) * kBoxBytes;  // all columns of kBoxTokens tokens
  static constexpr u32 kBandBytes =
      kMnMajor ? kBoxBytes : kWarpgroupRows * kSwizzleBytes;  // 64 rows

  WGRAD_DEVICE static u64 descriptor(u32 address) {
    return matrix_descriptor(address, kMnMajor ? kBoxBytes : 16, kAtomBytes);
  }

  // MN-major: offset of the 128-byte row that holds a token's 64 columns of box `box`.
  static constexpr u32 token_row(u32 box, u32 token) {
    return token / kBoxTokens * kRegionBytes + box * kBoxBytes + token % kBoxTokens * kSwizzleBytes;
  }

  // What to add to a descriptor of A for 64-row band `index`.
  static constexpr u64 band(u32 index) { return (index * kBandBytes) >> 4; }

  // What to add to a descriptor for wgmma step s of the stage.
  static constexpr u64 step(u32 s) {
    if (!kMnMajor) return (s * kStepTokens * kInputBytes) >> 4;
    const u32 token = s * kStepTokens;
    return ((token / kBoxTokens) * kRegionBytes + (token % kBoxTokens) * kSwizzleBytes) >> 4;
  }
};

template <Config kConfig>
using TileA = OperandTile<kConfig.a, u32(kConfig.tile_m), u32(kConfig.tile_k)>;
template <Config kConfig>
using TileB = OperandTile<kConfig.b, u32(kConfig.tile_n), u32(b_box_tokens(kConfig))>;

}  // namespace wgrad::device
