// A math warpgroup: multiplies stage after stage into its accumulators, then writes its part of the
// tile out.
#pragma once

#include "wgrad/common/align.cuh"
#include "wgrad/common/work_queue.cuh"
#include "wgrad/sm90/epilogue.cuh"
#include "wgrad/sm90/turns.cuh"
#include "wgrad/sm90/wgmma_tile.cuh"

namespace wgrad::device {

template <Config kConfig>
struct Consumer {
  static constexpr bool kPingpong = kConfig.split == WarpgroupSplit::kTiles;
  static constexpr u32 kBands = u32(bands_per_warpgroup(kConfig));
  static constexpr u32 kTailColumns = u32(kConfig.tail_n > 0 ? kConfig.tail_n : kConfig.tile_n);
  static constexpr u32 kReaders = u32(warpgroups_per_tile(kConfig)) * kWarpgroupThreads;
  static constexpr u32 kBothWarpgroups = 1;  // named barriers: one for all math threads,
  static constexpr u32 kOwnWarpgroup = 2;    // and one for each warpgroup from here on
  static constexpr i32 kPrefetchLead =
      128 / kConfig.tile_k;  // k blocks before the end of the main loop
  using A = WgmmaTile<TileA<kConfig>, bits_of(kConfig.input)>;
  using B = WgmmaTile<TileB<kConfig>, bits_of(kConfig.input)>;

  const Cta<kConfig>& cta;
  Pipeline<kConfig> pipeline;
  Turns<kConfig> turns;
  Epilogue<kConfig> epilogue;
  WorkQueue<kConfig> queue;
  MathThread thread;
  MathWarpgroup warpgroup;

  // One stage: all its k steps in one group, left in flight. `keep` 0 starts a new sum.
  template <u32 kColumns>
  WGRAD_DEVICE void multiply_stage(Accumulators<kConfig>& d, u32 stage, u32 keep) const {
    const u32 first_band = kPingpong ? 0 : u32(warpgroup);
    const u64 a = A::descriptor(pipeline.a(stage) + first_band * A::kBandBytes);
    const u64 b = B::descriptor(pipeline.b(stage));
    arch::wgmma_fence();
#pragma unroll
    for (u32 s = 0; s < kSteps<kConfig>; ++s) {
#pragma unroll
      for (u32 band = 0; band < kBands; ++band) {
        arch::wgmma_k16<kConfig.input, A::kTranspose, B::kTranspose>(
            d.template columns<kColumns>(band), a + A::band(band) + A::step(s), b + B::step(s),
            s == 0 ? keep : 1);
      }
    }
    arch::wgmma_commit();
  }

  // The stage of a k block as wgmma is to see it. One that moves needs its successor, while its
  // predecessor is still multiplied: three stages.
  WGRAD_DEVICE void align(const StageCursor<kConfig>& at, const Work& w, i32 block) {
    const KernelParams& p = cta.params;
    const u32 shift = token_shift<kConfig>(p, w);
    const RowMove a = row_move<kConfig.a, bits_of(kConfig.input)>(w.tokens, p.m, shift);
    const RowMove b = row_move<kConfig.b, bits_of(kConfig.input)>(w.tokens, p.n, shift);
    StageCursor<kConfig> next = at;
    if ((a.any() || b.any()) && block + 1 < w.blocks) {
      next.advance();
      epilogue.trace.span(TraceKind::kWaitFull, next.slot, [&] { pipeline.wait_full(next); });
    }
    const u32 begin = epilogue.trace.now();
    const u32 barrier = kPingpong ? kOwnWarpgroup + u32(warpgroup) : kBothWarpgroups;
    const u32 among = kPingpong ? u32(thread) % kWarpgroupThreads : u32(thread);
    const i32 token = first_token<kConfig>(p, w) + i32(shift) + block * kConfig.tile_k;
    if (align_share<kReaders>(pipeline, at.slot, next.slot, w, token, a, b, among))
      arch::named_sync(barrier, kReaders);
    epilogue.trace.record(TraceKind::kMask, at.slot, begin);
  }

  // All k blocks of a tile, the tile-th of this warpgroup; only the first kColumns columns of it. A
  // stage is released one block late, when the next group is already running.
  template <u32 kColumns>
  WGRAD_DEVICE void multiply(Accumulators<kConfig>& d, const Work& w, u32 tile) {
    auto& trace = epilogue.trace;
    u32 previous = 0, begun = 0;  // the stage that is being multiplied, and since when
    StageCursor<kConfig> at;
    at.skip(w.position);
    if constexpr (kPingpong) {
      trace.span(TraceKind::kWaitTurn, u32(warpgroup), [&] { turns.wait(warpgroup, tile); });
    }
    for (i32 block = 0; block < w.blocks; ++block, at.advance()) {
      trace.span(TraceKind::kWaitFull, at.slot, [&] { pipeline.wait_full(at); });
      if constexpr (moves_rows(kConfig)) align(at, w, block);
      const u32 begin = trace.now();
      multiply_stage<kColumns>(d, at.slot, block == 0 ? 0 : 1);
      if (block > 0) {
        arch::wgmma_wait<1>();
        trace.record(TraceKind::kMultiply, previous, begun);
        pipeline.release(previous);
      } else if constexpr (reads_output(kConfig) && !kConfig.workspace_split) {
        epilogue.fetch_first(w);
      }
      if constexpr (reduces_output(kConfig)) {
        if (block == max_of(w.blocks - kPrefetchLead, 0))
          epilogue.prefetch_first(queue.read_again());
      }
      previous = at.slot;
      begun = begin;
    }
    if constexpr (kConfig.split_k > 1 && reads_output(kConfig)) {
      if (w.blocks == 0) epilogue.fetch_first(w);  // no share of the tokens, but of the boxes
    }
    if constexpr (kPingpong) turns.pass_on(warpgroup);
    arch::wgmma_wait<0>();
    d.pin();
    if (w.blocks > 0) {
      trace.record(TraceKind::kMultiply, previous, begun);
      pipeline.release(previous);
    }
  }

  // Pingpong: every other tile is the other warpgroup's.
  WGRAD_DEVICE void run() {
    if constexpr (kPingpong) queue.at.skip(u32(warpgroup));
    for (u32 tile = 0;; ++tile, queue.at.skip(u32(tiles_at_once(kConfig)))) {
      const u32 begin = epilogue.trace.now();
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the first product sets them
      Accumulators<kConfig> d;
      const Work w = queue.read();
      if (w.blocks < 0) break;
      if (w.blocks == 0 || arch::kSetsAccumulators) d.clear();
      // NOLINTNEXTLINE(bugprone-branch-clone): alike only where a configuration has no tail
      if (kConfig.tail_n > 0 && cta.params.n - w.n0 <= kConfig.tail_n) {
        multiply<kTailColumns>(d, w, tile);
      } else {
        multiply<u32(kConfig.tile_n)>(d, w, tile);
      }
      // Read again rather than kept: 192 accumulators leave no room for it.
      const Work done = queue.read_again();
      if constexpr (kConfig.workspace_split) {
        const TokenPart part = TileExtra<kConfig>::read(queue.extra_entry());
        queue.let_go_together();
        if (epilogue.combine(d, done, part)) epilogue.write_out(d, done);
      } else {
        queue.let_go_together();
        if constexpr (kConfig.split_k > 1) epilogue.add_parts(d, done, kBothWarpgroups);
        epilogue.write_out(d, done);
      }
      epilogue.trace.record(TraceKind::kTile, tile, begin);
    }
    epilogue.finish();
  }
};

template <Config kConfig>
WGRAD_DEVICE void consume(const Cta<kConfig>& cta, MathThread thread) {
  const u32 warpgroup = arch::warp_uniform(u32(thread) / kWarpgroupThreads);
  const MathWarp warp{arch::warp_uniform(u32(thread) / 32)};
  const u32 rows = kConfig.split == WarpgroupSplit::kRows ? u32(warp) : u32(warp) % kWarpgroupWarps;
  const Epilogue<kConfig> epilogue{{.params = cta.params,
                                    .ring = {.base = cta.smem, .warp = warp, .at = {}},
                                    .parts = {.base = cta.smem, .warp = warp, .rank = cta.rank},
                                    .row = i32(rows) * kWarpRows},
                                   Trace<kConfig>::template start<kConfig>(cta.params)};
  Consumer<kConfig>{.cta = cta,
                    .pipeline = {.base = cta.smem},
                    .turns = {.base = cta.smem},
                    .epilogue = epilogue,
                    .queue = {.base = cta.smem},
                    .thread = thread,
                    .warpgroup = MathWarpgroup{warpgroup}}
      .run();
}

}  // namespace wgrad::device
