// Operand tiles in shared memory, with the 128-byte swizzle of the copy engine.
//   K-major:  row r is 128 bytes of tokens; 8 rows a swizzle atom (1024 bytes)
//   MN-major: boxes of 128 bytes of columns, one row a token; a multicast B arrives as two regions
//   of half the stage's tokens
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/shared/tensor_map.hpp"

namespace wgrad::device {

inline constexpr u32 kAtomBytes = 8 * kSwizzleBytes;

// Address of 16-byte chunk `chunk` of 128-byte row `row`, in a tile whose base is 1024-byte
// aligned.
WGRAD_DEVICE u32 swizzled(u32 tile, u32 row, u32 chunk) {
  return tile + row * u32{kSwizzleBytes} + ((chunk ^ (row % 8)) << 4);
}

// One operand's stage tile. kBits: of an element; kBoxTokens: tokens of one box; kRows: its extent
// along M or N in this CTA.
template <OperandLayout kLayout, i32 kBits, u32 kRows, u32 kBoxTokens>
struct OperandTile {
  static constexpr bool kMnMajor = is_mn_major(kLayout);
  static constexpr u32 kColumns = box_columns(kBits);                  // MN-major: of one box
  static constexpr u32 kBoxBytes = kBoxTokens * kSwizzleBytes;         // MN-major
  static constexpr u32 kRegionBytes = (kRows / kColumns) * kBoxBytes;  // all columns of its tokens

  // MN-major: offset of the 128-byte row that holds a token's columns of box `box`.
  static constexpr u32 token_row(u32 box, u32 token) {
    return token / kBoxTokens * kRegionBytes + box * kBoxBytes + token % kBoxTokens * kSwizzleBytes;
  }
};

template <KernelConfig auto kConfig>
using TileA =
    OperandTile<kConfig.a, bits_of(kConfig.input), u32(kConfig.tile_m), u32(kConfig.tile_k)>;
template <KernelConfig auto kConfig>
using TileB =
    OperandTile<kConfig.b, bits_of(kConfig.input), u32(kConfig.tile_n), u32(b_box_tokens(kConfig))>;

}  // namespace wgrad::device
