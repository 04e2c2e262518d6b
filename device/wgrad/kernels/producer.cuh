// The producer: one thread walks the tiles and has the copy engine fill stage after stage.
#pragma once

#include "wgrad/kernels/loader.cuh"
#include "wgrad/kernels/work.cuh"
#include "wgrad/prim/pipeline.cuh"
#include "wgrad/prim/tile.cuh"

namespace wgrad::device {

inline constexpr u16 kBothCtas = 0b11;

template <u32 kRank, bool kShared>
WGRAD_DEVICE void load(u32 target, const TensorMap& map, u32 barrier, const arch::Coord& x) {
  if constexpr (kShared) {
    arch::load_box_multicast<kRank>(target, map, barrier, x, kBothCtas);
  } else {
    arch::load_box<kRank>(target, map, barrier, x);
  }
}

// Tokens [token, token + box) of rows [row, row + kRows) into `target`, cut off at token `end`
// where the map can. kRows: what the map's box, or for kMnMajor the boxes of 64 columns, cover.
template <OperandLayout kLayout, u32 kRows, u32 kBoxTokens, bool kShared>
WGRAD_DEVICE void load_operand(u32 target, const TensorMap& map, u32 barrier, i32 row, i32 token,
                               i32 end) {
  constexpr i32 kBound = 1 << 30;                         // tensor_map.hpp, kRaggedTokens
  const i32 left = min_of(end - token, i32{kBoxTokens});  // may be negative: nothing is read then
  if constexpr (kLayout == OperandLayout::kMnMajorBlocked) {
    load<5, kShared>(target, map, barrier, {{0, kBound - left, row / 64, kBound, token + left}});
  } else if constexpr (kLayout == OperandLayout::kMnMajor) {
#pragma unroll
    for (u32 j = 0; j < kRows / 64; ++j) {
      load<4, kShared>(target + j * kBoxTokens * kSwizzleBytes, map, barrier,
                       {{row + i32(j) * 64, kBound - left, kBound, token + left, 0}});
    }
  } else if constexpr (kLayout == OperandLayout::kKMajor) {
    load<2, kShared>(target, map, barrier, {{token, row, 0, 0, 0}});
  }
}

template <Config kConfig>
struct Producer {
  static constexpr bool kMulticast = uses_multicast(kConfig);
  static constexpr u32 kBoxTokens = u32(b_box_tokens(kConfig));
  static constexpr u32 kBoxRows = u32(b_box_rows(kConfig));
  // Bytes the copy engine lands in this CTA's stage, from both CTAs together.
  static constexpr u32 kStageBytes =
      (kConfig.a == OperandLayout::kKMajorRagged ? 0 : a_stage_bytes(kConfig)) +
      (kConfig.b == OperandLayout::kKMajorRagged ? 0 : b_stage_bytes(kConfig));

  const Cta<kConfig>& cta;
  Pipeline<kConfig> pipeline;

  WGRAD_DEVICE void load_a(u32 stage, const Work& w, i32 token) const {
    load_operand<kConfig.a, u32(kConfig.tile_m), u32(kTileK), false>(
        pipeline.a(stage), cta.params.map_a, pipeline.full(stage), w.m0, token, w.tokens.end);
  }

  // With multicast each CTA sends its half to both: half the tokens (MN-major) or half the rows
  // (K-major).
  WGRAD_DEVICE void load_b(u32 stage, const Work& w, i32 token) const {
    const u32 part = kMulticast ? cta.rank : 0;
    const u32 bytes = part * (b_stage_bytes(kConfig) / 2);
    const i32 row = is_mn_major(kConfig.b) ? 0 : i32(part * kBoxRows);
    const i32 ahead = is_mn_major(kConfig.b) ? i32(part * kBoxTokens) : 0;
    load_operand<kConfig.b, kBoxRows, kBoxTokens, kMulticast>(
        pipeline.b(stage) + bytes, cta.params.map_b, pipeline.full(stage), w.n0 + row,
        token + ahead, w.tokens.end);
  }

  // One thread: everything the copy engine brings into a stage.
  WGRAD_DEVICE void copy_stage(u32 stage, const Work& w, i32 token) const {
    arch::barrier_arrive_expect(pipeline.full(stage), kStageBytes);
    load_a(stage, w, token);
    load_b(stage, w, token);
  }

  // One thread, accumulate: bring this block's share of the destination tile into L2 while the main
  // loop runs.
  WGRAD_DEVICE void prefetch_output(const Work& w, i32 block) const {
    for (i32 row = w.m0; row < w.m0 + kConfig.tile_m; row += kWarpgroupRows) {
      const i32 boxes = boxes_inside<kConfig>(cta.params, w, row);
      const i32 last = boxes * (block + 1) / w.blocks;
      for (i32 box = boxes * block / w.blocks; box < last; ++box) {
        arch::prefetch_box(cta.params.map_out, box_coord<kConfig>(cta.params, w, row, box));
      }
    }
  }

  // kTma threads: one; with a loader: all 128, of which the first also drives the copy engine.
  WGRAD_DEVICE void run(u32 thread) const {
    StageCursor<kConfig> at;
    for (u32 index = cta.cluster; index < tile_count(cta.grid); index += cta.cluster_count) {
      const Work w = work_at(cta, index);
      for (i32 block = 0; block < w.blocks; ++block, at.advance()) {
        const i32 token = w.first + block * kTileK;
        pipeline.wait_empty(at);
        if constexpr (uses_tma(kConfig)) {
          if (thread == 0) copy_stage(at.slot, w, token);
        }
        if constexpr (kConfig.accumulate) {
          if (thread == 0) prefetch_output(w, block);
        }
        if constexpr (uses_loader(kConfig))
          load_ragged_stage<kConfig>(cta, pipeline, at.slot, thread, w, token);
      }
    }
  }
};

// The producer warpgroup.
template <Config kConfig>
WGRAD_DEVICE void produce(const Cta<kConfig>& cta, u32 thread) {
  if (uses_loader(kConfig) || thread == 0) Producer<kConfig>{cta, {cta.smem}}.run(thread);
}

}  // namespace wgrad::device
