// Four warps between the copies and the multiplier, where an operand is K-major: they move rows and
// zero foreign tokens in shared memory (common/align.cuh), stage after stage.
//
//   ready[s]: completes when a stage may be multiplied. One arrival of each of these warps; a
//   pair's all arrive in the first CTA, whose thread multiplies both stages.
#pragma once

#include "wgrad/common/align.cuh"
#include "wgrad/common/trace.cuh"
#include "wgrad/common/work_queue.cuh"
#include "wgrad/sm100/smem.hpp"

namespace wgrad::device {

template <shared::sm100::Config kConfig>
struct Preparation {
  static constexpr Place kReady = place_of(kConfig, "ready");
  static constexpr u32 kThreads = shared::sm100::kPreparationWarps * 32;

  const Cta<kConfig>& cta;
  Pipeline<kConfig> pipeline;
  u32 thread = 0;  // of kThreads
  WorkQueue<kConfig> queue;
  StageCursor<kConfig> at{};

  // A stage that moves needs its successor, which the same threads move after it.
  WGRAD_DEVICE void align(const Work& w, i32 block, u32 shift, RowMove a, RowMove b) const {
    StageCursor<kConfig> next = at;
    if ((a.any() || b.any()) && block + 1 < w.blocks) {
      next.advance();
      pipeline.wait_full(next);
    }
    const i32 token = first_token<kConfig>(cta.params, w) + i32(shift) + block * kConfig.tile_k;
    align_share<kThreads>(pipeline, at.slot, next.slot, w, token, a, b, thread);
  }

  // All lanes, once they have fenced what they wrote. A pair's arrival releases it to the peer.
  WGRAD_DEVICE void tell_ready() const {
    const u32 ready = pipeline.base + kReady.at + at.slot * kBarrierBytes;
    arch::warp_sync();
    if (arch::lane_index() != 0) return;
    if constexpr (multiplies_in_pairs(kConfig)) {
      arch::barrier_arrive_release_cluster(arch::map_to_rank(ready, 0));
    } else {
      arch::barrier_arrive(ready);
    }
  }

  WGRAD_DEVICE void prepare(const Work& w, Trace<kConfig>& trace) {
    const u32 shift = token_shift<kConfig>(cta.params, w);
    const RowMove a = row_move<kConfig.a, bits_of(kConfig.input)>(w.tokens, cta.params.m, shift);
    const RowMove b = row_move<kConfig.b, bits_of(kConfig.input)>(w.tokens, cta.params.n, shift);
    for (i32 block = 0; block < w.blocks; ++block, at.advance()) {
      trace.span(TraceKind::kWaitFull, at.slot, [&] { pipeline.wait_full(at); });
      const u32 begin = trace.now();
      align(w, block, shift, a, b);
      tell_ready();
      trace.record(TraceKind::kMask, at.slot, begin);
    }
  }

  WGRAD_DEVICE void run() {
    auto trace = Trace<kConfig>::template start<kConfig>(cta.params);
    for (;; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      queue.let_go_together();
      prepare(w, trace);
    }
    trace.anchor();
  }
};

}  // namespace wgrad::device
