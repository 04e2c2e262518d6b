// The producer: one thread has the copy engine fill stage after stage, tile after tile. `Parts`:
// what of a tile a CTA has where a cluster shares it (common/whole_tile.cuh: all of it).
#pragma once

#include "wgrad/common/loader.cuh"
#include "wgrad/common/operand.cuh"
#include "wgrad/common/pipeline.cuh"
#include "wgrad/common/scheduler.cuh"
#include "wgrad/common/tile.cuh"
#include "wgrad/common/trace.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig, typename Parts>
struct Producer {
  static constexpr bool kMulticast = uses_multicast(kConfig);
  static constexpr bool kPair = multiplies_in_pairs(kConfig);
  // A pair's bytes are all counted in the first CTA, unless each CTA puts its own stages right.
  static constexpr bool kTogether = kPair && !moves_rows(kConfig);
  static constexpr Sharing kOwn = kTogether ? Sharing::kPair : Sharing::kNone;
  static constexpr u32 kBoxTokens = u32(b_box_tokens(kConfig));
  static constexpr u32 kBoxRows = u32(b_box_rows(kConfig));
  // Bytes the copy engine lands in this CTA's stage.
  static constexpr u32 kStageBytes =
      (kConfig.a == OperandLayout::kKMajorRagged ? 0 : a_stage_bytes(kConfig)) +
      (kConfig.b == OperandLayout::kKMajorRagged ? 0 : b_stage_bytes(kConfig));

  const Cta<kConfig>& cta;
  Pipeline<kConfig> pipeline;

  // `token`: where K-major boxes start. MN-major ones start with the first window (align.cuh).
  WGRAD_DEVICE i32 box_token(OperandLayout layout, const Work& w, i32 token) const {
    return is_mn_major(layout) ? token + i32(token_shift<kConfig>(cta.params, w)) : token;
  }

  // Counts the bytes of a stage.
  WGRAD_DEVICE u32 full(u32 stage) const {
    if constexpr (kTogether) return arch::map_to_rank(pipeline.full(stage), 0);
    return pipeline.full(stage);
  }

  WGRAD_DEVICE void load_a(u32 stage, const Work& w, i32 token) const {
    const Destination to{pipeline.a(stage), full(stage)};
    load_operand<kConfig.a, u32(kConfig.tile_m), u32(kConfig.tile_k), kOwn>(
        to, cta.params.map_a, w.m0, box_token(kConfig.a, w, token), w.tokens.end);
  }

  // A pair multiplies each CTA's half of the rows of B. With multicast each CTA sends its half to
  // both: half the tokens (MN-major) or half the rows (K-major).
  WGRAD_DEVICE void load_b(u32 stage, const Work& w, i32 token) const {
    const u32 part = kMulticast ? cta.rank : 0;
    const u32 bytes = part * (b_stage_bytes(kConfig) / 2);
    const i32 row = is_mn_major(kConfig.b) ? 0 : i32(part * kBoxRows);
    const i32 ahead = is_mn_major(kConfig.b) ? i32(part * kBoxTokens) : 0;
    const Destination to{pipeline.b(stage) + bytes, full(stage)};
    load_operand<kConfig.b, kBoxRows, kBoxTokens, kMulticast ? Sharing::kBoth : kOwn>(
        to, cta.params.map_b, first_b_row(cta, w) + row, box_token(kConfig.b, w, token) + ahead,
        w.tokens.end);
  }

  // One thread: everything the copy engine brings into a stage.
  WGRAD_DEVICE void copy_stage(u32 stage, const Work& w, i32 token) const {
    if constexpr (kTogether) {
      if (cta.rank == 0) arch::barrier_arrive_expect(pipeline.full(stage), 2 * kStageBytes);
    } else {
      arch::barrier_arrive_expect(pipeline.full(stage), kStageBytes);
    }
    load_a(stage, w, token);
    load_b(stage, w, token);
  }

  // One thread.
  WGRAD_DEVICE void fill(StageCursor<kConfig>& at, Trace<kConfig>& trace, const Work& w) const {
    const i32 first = first_token<kConfig>(cta.params, w);
    for (i32 block = 0; block < w.blocks; ++block, at.advance()) {
      const i32 token = first + block * kConfig.tile_k;
      trace.span(TraceKind::kWaitEmpty, at.slot, [&] { pipeline.wait_empty(at); });
      const u32 begin = trace.now();
      copy_stage(at.slot, w, token);
      trace.record(TraceKind::kCopy, at.slot, begin);
    }
  }

  // All 128 threads, of which the first also drives the copy engine.
  WGRAD_DEVICE void fill(Loader<kConfig>& loader, StageCursor<kConfig>& at, Trace<kConfig>& trace,
                         const Work& w) const {
    for (i32 block = 0; block < w.blocks; ++block, at.advance()) {
      const i32 token = w.tokens.begin + block * kConfig.tile_k;
      trace.span(TraceKind::kWaitEmpty, at.slot, [&] {
        loader.hand_over_before(pipeline.empty(at.slot), at.parity ^ 1);
        pipeline.wait_empty(at);
      });
      const u32 begin = trace.now();
      if constexpr (uses_tma(kConfig)) {
        if (u32(loader.thread) == 0) copy_stage(at.slot, w, token);
      }
      loader.copy(at.slot, w, token);
      trace.record(TraceKind::kCopy, at.slot, begin);
    }
  }

  // One thread, beside a scheduler in another warp.
  WGRAD_DEVICE void run() const {
    StageCursor<kConfig> at;
    auto trace = Trace<kConfig>::template start<kConfig>(cta.params);
    Parts parts{.base = cta.smem, .rank = cta.rank};
    for (WorkQueue<kConfig> queue{.base = cta.smem};; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      if constexpr (!Parts::kShared) queue.let_go();
      fill(at, trace, w);
      parts.wait_read(trace);
      if constexpr (Parts::kShared) queue.let_go();
    }
    if constexpr (kPair) pipeline.wait_all_empty(at);  // commits of the other CTA arrive here
    trace.anchor();
  }

  // All 128 threads, of which the first is the scheduler too, a tile ahead.
  WGRAD_DEVICE void run_loader(LoaderThread thread) const {
    StageCursor<kConfig> at;
    auto trace = Trace<kConfig>::template start<kConfig>(cta.params);
    Scheduler<kConfig> scheduler(cta);
    Loader<kConfig> loader{.cta = cta, .pipeline = pipeline, .thread = thread};
    bool more = u32(thread) == 0 && scheduler.advance();
    for (WorkQueue<kConfig> queue{.base = cta.smem};; queue.at.advance()) {
      // Room in the queue may come from those who wait for these stages.
      if (u32(thread) < 32) loader.template hand_over<0>();
      if (more) more = scheduler.advance();
      loader.hand_over_before(queue.full(), queue.at.parity);
      const Work w = queue.read();
      if (w.blocks < 0) break;
      queue.let_go_together();
      fill(loader, at, trace, w);
    }
    loader.template hand_over<0>();
    if constexpr (kPair) pipeline.wait_all_empty(at);
    trace.anchor();
  }
};

// The producer warpgroup.
template <typename Parts, KernelConfig auto kConfig>
WGRAD_DEVICE void produce(const Cta<kConfig>& cta, LoaderThread thread) {
  const Producer<kConfig, Parts> producer{.cta = cta, .pipeline = {.base = cta.smem}};
  if constexpr (uses_loader(kConfig)) {
    producer.run_loader(thread);
  } else if (u32(thread) == 0) {
    producer.run();
  } else if (u32(thread) == 32) {
    Scheduler<kConfig>(cta).run();
  }
}

}  // namespace wgrad::device
