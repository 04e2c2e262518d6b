// A stage of block-scaled operands: codes and scale factors (sm100_scaled/smem.hpp). How many an
// expert's tokens take, and where rows begin in them.
//
//   full[s]: codes and scale factors have landed. One arrival of the thread that drives the copy
//   engine, one of each copier warp.
//
//   ready[s]: K-major rows begin with the stage's first token, and nothing foreign is left. One
//   arrival of each preparation warp.
//
//   empty[s]: a commit: codes are multiplied, scale factors are read.
#pragma once

#include "wgrad/common/k_major_rows.cuh"
#include "wgrad/common/pipeline.cuh"
#include "wgrad/common/scale_atoms.cuh"
#include "wgrad/sm100_scaled/smem.hpp"

namespace wgrad::device {

template <shared::sm100_scaled::Config kConfig>
struct ScaledStages : Pipeline<kConfig> {
  static constexpr Place kScalesA = place_of(kConfig, "scales a");
  static constexpr Place kScalesB = place_of(kConfig, "scales b");
  using Pipeline<kConfig>::base;

  WGRAD_DEVICE u32 scales_a(u32 stage) const { return base + kScalesA.at + stage * kScalesA.bytes; }
  WGRAD_DEVICE u32 scales_b(u32 stage) const { return base + kScalesB.at + stage * kScalesB.bytes; }
  WGRAD_DEVICE u32 ready(u32 stage) const {
    return base + place_of(kConfig, "ready").at + stage * kBarrierBytes;
  }
};

template <shared::sm100_scaled::Config kConfig, bool kOfA>
struct CodeSide {
  static constexpr OperandLayout kLayout = kOfA ? kConfig.a : kConfig.b;
  static constexpr bool kKMajor = !is_mn_major(kLayout);
  static constexpr u32 kRows = u32(kOfA ? kConfig.tile_m : kConfig.tile_n);
  static constexpr u32 kStageBytes = kRows * u32{kSwizzleBytes};
  using Rows = KMajorRows<kLayout, bits_of(kConfig.input), kOfA>;

  // Bytes that rows have before their first token, at most.
  WGRAD_DEVICE static u32 most_shift(const ScaledParams& p, TokenRange tokens) {
    if constexpr (!kKMajor) return 0;
    const Rows rows(p, tokens);
    return rows.pitch % u64{kCopyUnit} == 0 ? u32(rows.first % u64{kCopyUnit}) : kCopyUnit - 1;
  }
};

// Stages that hold the tile's codes: one more than w.blocks, which are multiplied, where rows begin
// off a copy unit and the last of them reaches into it.
template <shared::sm100_scaled::Config kConfig>
WGRAD_DEVICE i32 stage_count(const ScaledParams& p, const Work& w) {
  if (w.blocks == 0) return 0;
  const u32 bits = u32(bits_of(kConfig.input));
  const u32 bytes = (u32(w.tokens.end - w.tokens.begin) * (bits / 4) + 1) / 2;
  const u32 shift = max_of(CodeSide<kConfig, true>::most_shift(p, w.tokens),
                           CodeSide<kConfig, false>::most_shift(p, w.tokens));
  return i32(ceil_div(bytes + shift, u32{kSwizzleBytes}));
}

// Tokens of the expert from stage `block` on.
template <shared::sm100_scaled::Config kConfig>
WGRAD_DEVICE i32 tokens_left(const Work& w, i32 block) {
  return w.tokens.end - w.tokens.begin - block * kConfig.tile_k;
}

}  // namespace wgrad::device
