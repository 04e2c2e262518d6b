// A math warpgroup: multiplies stage after stage into its 64 x tile_n accumulator, then writes the
// tile out.
#pragma once

#include "wgrad/kernels/mask.cuh"
#include "wgrad/kernels/work.cuh"
#include "wgrad/prim/accumulator.cuh"
#include "wgrad/prim/pipeline.cuh"
#include "wgrad/prim/store.cuh"
#include "wgrad/prim/tile.cuh"

namespace wgrad::device {

template <Config kConfig>
struct Consumer {
  static constexpr u32 kAccumulators = u32(kConfig.tile_n) / 2;
  static constexpr i32 kBoxes = output_boxes(kConfig);
  using A = TileA<kConfig>;
  using B = TileB<kConfig>;
  using Accumulator = float[kAccumulators];

  const Cta<kConfig>& cta;
  Pipeline<kConfig> pipeline;
  OutputRing<kConfig> ring;
  u32 thread;     // among the math threads
  u32 warpgroup;  // among the math warpgroups
  StageCursor<kConfig> at{};

  WGRAD_DEVICE bool is_leader() const { return thread % kWarpgroupThreads == 0; }
  WGRAD_DEVICE i32 row(const Work& w) const { return w.m0 + i32(warpgroup) * kWarpgroupRows; }

  // One stage: four wgmmas in one group, left in flight. `keep` 0 starts a new sum.
  WGRAD_DEVICE void multiply_stage(Accumulator& d, u32 stage, u32 keep) const {
    const u64 a = A::descriptor(pipeline.a(stage) + warpgroup * A::kWarpgroupBytes);
    const u64 b = B::descriptor(pipeline.b(stage));
    arch::wgmma_fence();
#pragma unroll
    for (u32 s = 0; s < kSteps; ++s) {
      arch::wgmma_k16<kConfig.input, A::kTranspose, B::kTranspose>(
          d, a + A::step(s), b + B::step(s), s == 0 ? keep : 1);
    }
    arch::wgmma_commit();
  }

  // All k blocks of a tile. A stage is released one block late, when the next group is already
  // running.
  WGRAD_DEVICE void multiply(Accumulator& d, const Work& w) {
    u32 previous = 0;
    for (i32 block = 0; block < w.blocks; ++block, at.advance()) {
      pipeline.wait_full(at);
      if constexpr (aligns_first_token(kConfig)) {
        mask_stage<kConfig>(pipeline, at.slot, w, w.first + block * kTileK, thread);
      }
      multiply_stage(d, at.slot, block == 0 ? 0 : 1);
      if (block > 0) {
        arch::wgmma_wait<1>();
        pipeline.release(previous);
      } else if constexpr (reads_output(kConfig)) {
        fetch_first(w);
      }
      previous = at.slot;
    }
    arch::wgmma_wait<0>();
    arch::wgmma_pin(d);
    if (w.blocks > 0) pipeline.release(previous);
  }

  // 16-bit accumulate: the first destination boxes are fetched under the main loop, the others as
  // slots fall free.
  WGRAD_DEVICE void fetch_first(const Work& w) const {
    if (!is_leader()) return;
    const i32 boxes = min_of(boxes_inside<kConfig>(cta.params, w, row(w)), kConfig.ring_slots);
    arch::wait_stores_read<0>();
    RingCursor<u32(kConfig.ring_slots)> slot = ring.at;
    for (i32 box = 0; box < boxes; ++box, slot.advance()) {
      ring.fetch(slot.slot, cta.params.map_out, box_coord<kConfig>(w, row(w), box));
    }
  }
  WGRAD_DEVICE void fetch_next(const Work& w, u32 slot, i32 box, i32 boxes) const {
    if (!is_leader() || box >= boxes) return;
    arch::wait_stores_read<0>();
    ring.fetch(slot, cta.params.map_out, box_coord<kConfig>(w, row(w), box));
  }

  template <i32 kBox>
  WGRAD_DEVICE void write_out_box(const Accumulator& d, const Work& w, i32 boxes) {
    const u32 slot = ring.at.slot;
    if constexpr (reads_output(kConfig)) {
      ring.wait_fetched();
    } else {
      ring.acquire(is_leader());
    }
    write_box<kConfig, u32(kBox)>(ring.box(slot), thread % kWarpgroupThreads / 32, d);
    ring.submit(is_leader(), cta.params.map_out, box_coord<kConfig>(w, row(w), kBox));
    if constexpr (reads_output(kConfig)) fetch_next(w, slot, kBox + kConfig.ring_slots, boxes);
  }

  // Boxes kBox, kBox + 1, ... of the tile: indices into the accumulator are compile-time constants.
  template <i32 kBox = 0>
  WGRAD_DEVICE void write_out(const Accumulator& d, const Work& w, i32 boxes) {
    if constexpr (kBox < kBoxes) {
      if (kBox >= boxes) return;
      write_out_box<kBox>(d, w, boxes);
      write_out<kBox + 1>(d, w, boxes);
    }
  }

  WGRAD_DEVICE void run() {
    for (u32 index = cta.cluster; index < tile_count(cta.grid); index += cta.cluster_count) {
      const Work w = work_at(cta, index);
      Accumulator d;
      if (w.blocks == 0) {
#pragma unroll
        for (u32 i = 0; i < kAccumulators; ++i) d[i] = 0.0f;
      }
      multiply(d, w);
      write_out(d, w, boxes_inside<kConfig>(cta.params, w, row(w)));
    }
    if (is_leader()) arch::wait_stores();
  }
};

// A math warpgroup; `thread` counts the math threads.
template <Config kConfig>
WGRAD_DEVICE void consume(const Cta<kConfig>& cta, u32 thread) {
  const u32 warpgroup = arch::warp_uniform(thread / kWarpgroupThreads);
  Consumer<kConfig>{cta, {cta.smem}, {cta.smem, warpgroup, {}}, thread, warpgroup}.run();
}

}  // namespace wgrad::device
