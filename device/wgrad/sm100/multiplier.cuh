// The multiplier: one thread that issues tcgen05.mma for stage after stage, tile after tile.
// Nothing of it waits for a product: commits tell the producer when a stage is read and the
// epilogue when a tile is summed.
#pragma once

#include "wgrad/common/tile.cuh"
#include "wgrad/common/trace.cuh"
#include "wgrad/common/work_queue.cuh"
#include "wgrad/shared/instruction_descriptor.hpp"
#include "wgrad/shared/matrix_descriptor.hpp"
#include "wgrad/sm100/accumulators.cuh"
#include "wgrad/sm100/smem.hpp"

namespace wgrad::device {

// A stage's tile as tcgen05.mma reads it.
template <typename Tile, u32 kDepth, i32 kBits>
struct MmaTile {
  WGRAD_DEVICE static u64 descriptor(u32 address) {
    constexpr MatrixForm kForm = Tile::kMnMajor ? mn_major_128(kDepth) : kKMajor128;
    return matrix_descriptor(kForm, address);
  }
  // What to add to a descriptor for step s of the stage.
  static constexpr u64 step(u32 s) {
    const u32 token = s * u32{kWindowTokens};
    return (Tile::kMnMajor ? Tile::token_row(0, token) : u32(bytes_of(i32(token), kBits))) >> 4;
  }
};

template <shared::sm100::Config kConfig>
struct Multiplier {
  static constexpr u32 kCtas = u32(kConfig.cluster_m);
  static constexpr bool kPrepared = prepares_stages(kConfig);
  static constexpr u32 kSteps = u32(kConfig.tile_k / kWindowTokens);
  static constexpr Place kReady = kPrepared ? place_of(kConfig, "ready") : Place{};
  static constexpr u16 kBothOfPair = 0b11;  // the cluster is the pair
  using A = MmaTile<TileA<kConfig>, u32(kConfig.tile_k), bits_of(kConfig.input)>;
  using B = MmaTile<TileB<kConfig>, u32(kConfig.tile_k), bits_of(kConfig.input)>;

  const Cta<kConfig>& cta;
  Pipeline<kConfig> pipeline;
  Accumulators<kConfig> accumulators;
  WorkQueue<kConfig> queue;
  StageCursor<kConfig> at{};

  // Columns past the end of a row are left out, 64 at a time; not by a pair, whose halves of B
  // would have to follow.
  WGRAD_DEVICE u32 instruction(const Work& w) const {
    constexpr i32 kStep = shared::sm100::kColumnStep;
    constexpr MmaMajors kMajors = {is_mn_major(kConfig.a), is_mn_major(kConfig.b)};
    const i32 all = round_up(cta.params.n - w.n0, kStep);
    const i32 columns = kCtas == 2 ? kConfig.tile_n : min_of(kConfig.tile_n, all);
    return f16_instruction(kConfig.input, {kCtas * u32(kConfig.tile_m), u32(columns)}, kMajors);
  }

  // One arrival at this barrier, of a pair in both CTAs, once what was issued so far is complete.
  WGRAD_DEVICE static void commit(u32 barrier) {
    if constexpr (kCtas == 2) {
      arch::tcgen05_commit_multicast<2>(barrier, kBothOfPair);
    } else {
      arch::tcgen05_commit<1>(barrier);
    }
  }

  WGRAD_DEVICE void wait_stage() const {
    if constexpr (!kPrepared) return pipeline.wait_full(at);
    const u32 ready = pipeline.base + kReady.at + at.slot * kBarrierBytes;
    if constexpr (kCtas == 2) {
      arch::barrier_wait_acquire_cluster(ready, at.parity);
    } else {
      arch::barrier_wait(ready, at.parity);
    }
  }

  // `keep` 0 starts a new sum.
  WGRAD_DEVICE void multiply_stage(u32 instruction, u32 keep) const {
    const u64 a = A::descriptor(pipeline.a(at.slot)), b = B::descriptor(pipeline.b(at.slot));
#pragma unroll
    for (u32 s = 0; s < kSteps; ++s) {
      arch::tcgen05_multiply<kCtas>(accumulators.tile(), a + A::step(s), b + B::step(s),
                                    instruction, s == 0 ? keep : 1);
    }
    commit(pipeline.empty(at.slot));
  }

  WGRAD_DEVICE void multiply(const Work& w, Trace<kConfig>& trace) {
    const u32 instruction = this->instruction(w);
    trace.span(TraceKind::kWaitAccumulator, accumulators.at.slot,
               [&] { accumulators.wait_empty(); });
    for (i32 block = 0; block < w.blocks; ++block, at.advance()) {
      trace.span(TraceKind::kWaitFull, at.slot, [&] { wait_stage(); });
      const u32 begin = trace.now();
      multiply_stage(instruction, block == 0 ? 0 : 1);
      trace.record(TraceKind::kMultiply, at.slot, begin);
    }
    commit(accumulators.full());
    accumulators.at.advance();
  }

  // An entry of the queue is kept until its last product is issued: the scheduler claims long tiles
  // by it. At the end every commit's arrival is waited for: shared memory must outlive it; the
  // producer waits for a pair's, of which the second CTA's multiplier knows nothing.
  WGRAD_DEVICE void run() {
    auto trace = Trace<kConfig>::template start_alone<kConfig>(cta.params);
    const bool is_first = kCtas == 1 || cta.rank == 0;  // it multiplies for both
    for (;; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      if (w.blocks > 0 && is_first) multiply(w, trace);
      queue.let_go();
    }
    if constexpr (kCtas == 1) pipeline.wait_all_empty(at);
    trace.anchor();
  }
};

}  // namespace wgrad::device
