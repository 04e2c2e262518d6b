// A stage's tile as wgmma reads it. PTX: "wgmma matrix descriptor", "canonical layouts", 128-byte
// swizzle.
#pragma once

#include "wgrad/common/tile.cuh"
#include "wgrad/sm90/config.hpp"

namespace wgrad::device {

// wgmmas along K of a stage.
template <KernelConfig auto kConfig>
inline constexpr u32 kSteps = u32(kConfig.tile_k / window_tokens(bits_of(kConfig.input)));

// `group`: bytes between groups of 8 rows (K-major) or 8 tokens (MN-major). `columns`: bytes
// between 64-column blocks (MN-major only).
WGRAD_DEVICE u64 matrix_descriptor(u32 address, u32 columns, u32 group) {
  constexpr u64 kSwizzle128 = u64{1} << 62;
  return kSwizzle128 | (u64{group >> 4} << 32) | (u64{columns >> 4} << 16) |
         ((address & 0x3ffff) >> 4);
}

template <typename Tile, i32 kBits>
struct WgmmaTile {
  static constexpr u32 kTranspose = Tile::kMnMajor ? 1 : 0;
  static constexpr u32 kBandBytes =
      Tile::kMnMajor ? Tile::kBoxBytes : kWarpgroupRows * kSwizzleBytes;  // 64 rows

  WGRAD_DEVICE static u64 descriptor(u32 address) {
    return matrix_descriptor(address, Tile::kMnMajor ? Tile::kBoxBytes : 16, kAtomBytes);
  }

  // What to add to a descriptor of A for 64-row band `index`.
  static constexpr u64 band(u32 index) { return (index * kBandBytes) >> 4; }

  // What to add to a descriptor for wgmma step s of the stage.
  static constexpr u64 step(u32 s) {
    const u32 token = s * u32(window_tokens(kBits));
    return (Tile::kMnMajor ? Tile::token_row(0, token) : u32(bytes_of(i32(token), kBits))) >> 4;
  }
};

}  // namespace wgrad::device
