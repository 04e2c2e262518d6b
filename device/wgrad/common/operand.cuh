// The boxes that make up one operand's part of a stage.
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/shared/tensor_map.hpp"

namespace wgrad::device {

inline constexpr u16 kBothCtas = 0b11;

struct Destination {
  u32 tile;     // shared memory
  u32 barrier;  // counts the bytes
};

enum class Sharing : u8 {
  kNone,
  kBoth,  // into both CTAs of the cluster, at the same place and barrier of each
  kPair,  // into this CTA, for a pair that multiplies together: the barrier, an address from
          // map_to_rank, is the first CTA's
};

template <u32 kRank, Sharing kShared>
WGRAD_DEVICE void load_box(const Destination& to, u32 offset, const TensorMap& map,
                           const arch::Coord& x) {
  if constexpr (kShared == Sharing::kBoth) {
    arch::load_box_multicast<kRank>(to.tile + offset, map, to.barrier, x, kBothCtas);
  } else if constexpr (kShared == Sharing::kPair) {
    arch::load_box_of_pair<kRank>(to.tile + offset, map, to.barrier, x);
  } else {
    arch::load_box<kRank>(to.tile + offset, map, to.barrier, x);
  }
}

// Tokens [token, token + kBoxTokens) of rows [row, row + kRows), cut off at token `end` where the
// map can.
template <OperandLayout kLayout, u32 kRows, u32 kBoxTokens, Sharing kShared>
WGRAD_DEVICE void load_operand(const Destination& to, const TensorMap& map, i32 row, i32 token,
                               i32 end) {
  constexpr i32 kBound = i32{kRaggedTokens};
  const i32 left = min_of(end - token, i32{kBoxTokens});  // may be negative: nothing is read then
  if constexpr (kLayout == OperandLayout::kMnMajorBlocked) {
    load_box<5, kShared>(to, 0, map, {{0, kBound - left, row / 64, kBound, token + left}});
  } else if constexpr (kLayout == OperandLayout::kMnMajor) {
#pragma unroll
    for (u32 j = 0; j < kRows / 64; ++j) {
      const arch::Coord x{{row + i32(j) * 64, kBound - left, kBound, token + left, 0}};
      load_box<4, kShared>(to, j * kBoxTokens * kSwizzleBytes, map, x);
    }
  } else if constexpr (kLayout == OperandLayout::kKMajor) {
    load_box<2, kShared>(to, 0, map, {{token, row, 0, 0, 0}});
  }
}

}  // namespace wgrad::device
