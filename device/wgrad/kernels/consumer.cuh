// A math warpgroup: multiplies stage after stage into its accumulators, then writes its part of the
// tile out.
#pragma once

#include "wgrad/kernels/epilogue.cuh"
#include "wgrad/kernels/mask.cuh"
#include "wgrad/prim/tile.cuh"

namespace wgrad::device {

template <Config kConfig>
struct Consumer {
  static constexpr bool kPingpong = kConfig.split == WarpgroupSplit::kTiles;
  static constexpr u32 kBands = u32(bands_per_warpgroup(kConfig));
  static constexpr u32 kBothWarpgroups = 1;  // named barrier
  static constexpr i32 kPrefetchLead = 2;    // k blocks before the end of the main loop
  using A = TileA<kConfig>;
  using B = TileB<kConfig>;

  const Cta<kConfig>& cta;
  Pipeline<kConfig> pipeline;
  Turns<kConfig> turns;
  Epilogue<kConfig> epilogue;
  u32 thread;     // among the math threads
  u32 warpgroup;  // among the math warpgroups
  StageCursor<kConfig> at{};

  // One stage: four k steps in one group, left in flight. `keep` 0 starts a new sum.
  WGRAD_DEVICE void multiply_stage(Accumulators<kConfig>& d, u32 stage, u32 keep) const {
    const u32 first_band = kPingpong ? 0 : warpgroup;
    const u64 a = A::descriptor(pipeline.a(stage) + first_band * A::kBandBytes);
    const u64 b = B::descriptor(pipeline.b(stage));
    arch::wgmma_fence();
#pragma unroll
    for (u32 s = 0; s < kSteps; ++s) {
#pragma unroll
      for (u32 band = 0; band < kBands; ++band) {
        arch::wgmma_k16<kConfig.input, A::kTranspose, B::kTranspose>(
            d.band[band], a + A::band(band) + A::step(s), b + B::step(s), s == 0 ? keep : 1);
      }
    }
    arch::wgmma_commit();
  }

  WGRAD_DEVICE void mask(const Work& w, i32 block) {
    const u32 begin = epilogue.trace.now();
    const u32 barrier = kPingpong ? epilogue.ring.named_barrier() : kBothWarpgroups;
    const u32 among = kPingpong ? thread % kWarpgroupThreads : thread;
    mask_stage<kConfig>(pipeline, at.slot, w, w.first + block * kTileK, among, barrier);
    epilogue.trace.record(TraceKind::kMask, at.slot, begin);
  }

  // All k blocks of a tile, the tile-th of this warpgroup. A stage is released one block late, when
  // the next group is already running.
  WGRAD_DEVICE void multiply(Accumulators<kConfig>& d, const Work& w, u32 tile) {
    auto& trace = epilogue.trace;
    u32 previous = 0, begun = 0;  // the stage that is being multiplied, and since when
    if constexpr (kPingpong) {
      trace.span(TraceKind::kWaitTurn, warpgroup, [&] { turns.wait(warpgroup, tile); });
    }
    for (i32 block = 0; block < w.blocks; ++block, at.advance()) {
      trace.span(TraceKind::kWaitFull, at.slot, [&] { pipeline.wait_full(at); });
      if constexpr (aligns_first_token(kConfig)) mask(w, block);
      const u32 begin = trace.now();
      multiply_stage(d, at.slot, block == 0 ? 0 : 1);
      if (block > 0) {
        arch::wgmma_wait<1>();
        trace.record(TraceKind::kMultiply, previous, begun);
        pipeline.release(previous);
      } else if constexpr (reads_output(kConfig)) {
        epilogue.fetch_first(w);
      }
      if constexpr (reduces_output(kConfig)) {
        if (block == max_of(w.blocks - kPrefetchLead, 0)) epilogue.prefetch_first(w);
      }
      previous = at.slot;
      begun = begin;
    }
    if constexpr (kPingpong) turns.pass_on(warpgroup);
    arch::wgmma_wait<0>();
    d.pin();
    if (w.blocks > 0) {
      trace.record(TraceKind::kMultiply, previous, begun);
      pipeline.release(previous);
    }
  }

  WGRAD_DEVICE void run() {
    u32 turn = 0;  // tiles of this CTA so far
    for (u32 index = cta.cluster; index < tile_count(cta.grid);
         index += cta.cluster_count, ++turn) {
      const Work w = work_at(cta, index);
      if (kPingpong && turn % kMathWarpgroups != warpgroup) {
        at.skip(u32(w.blocks));
        continue;
      }
      const u32 begin = epilogue.trace.now();
      Accumulators<kConfig> d;
      if (w.blocks == 0) d.clear();
      multiply(d, w, turn / kMathWarpgroups);
      // Derived again rather than kept: 192 accumulators leave no room for it.
      epilogue.write_out(d, kPingpong ? work_at(cta, index) : w);
      epilogue.trace.record(TraceKind::kTile, index, begin);
    }
    epilogue.finish();
  }
};

// A math warpgroup; `thread` counts the math threads.
template <Config kConfig>
WGRAD_DEVICE void consume(const Cta<kConfig>& cta, u32 thread) {
  const u32 warpgroup = arch::warp_uniform(thread / kWarpgroupThreads);
  const u32 row = kConfig.split == WarpgroupSplit::kRows ? warpgroup * kWarpgroupRows : 0;
  const Epilogue<kConfig> epilogue{cta.params,
                                   {cta.smem, warpgroup, {}},
                                   thread % kWarpgroupThreads,
                                   i32(row),
                                   Trace<kConfig>::template start<kConfig>(cta.params)};
  Consumer<kConfig>{cta, {cta.smem}, {cta.smem}, epilogue, thread, warpgroup}.run();
}

}  // namespace wgrad::device
