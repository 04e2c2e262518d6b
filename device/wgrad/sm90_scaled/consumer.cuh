// A math warpgroup: multiplies decoded stages into its accumulators, applies the global factors and
// writes its part of the tile out.
#pragma once

#include "wgrad/common/global_factors.cuh"
#include "wgrad/sm90/epilogue.cuh"
#include "wgrad/sm90/wgmma_tile.cuh"
#include "wgrad/sm90_scaled/pipeline.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
WGRAD_DEVICE void apply_factors(Accumulators<kConfig>& d, const Factors& factors) {
#pragma unroll
  for (u32 b = 0; b < Accumulators<kConfig>::kBands; ++b) {
#pragma unroll
    for (u32 i = 0; i < Accumulators<kConfig>::kCount; ++i) {
      // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the main loop has set it
      d.band[b][i] = factors.of(d.band[b][i]);
    }
  }
}

template <KernelConfig auto kConfig>
struct ScaledConsumer {
  static constexpr i32 kPrefetchLead = 2;  // k blocks before the end of the main loop
  static constexpr u32 kPartColumns = 128;
  static constexpr u32 kParts = u32(kConfig.tile_n) / kPartColumns;
  static constexpr u32 kPartBytes = kPartColumns * b_stage_bytes(kConfig) / u32(kConfig.tile_n);
  using A = WgmmaTile<TileA<kConfig>, bits_of(kConfig.input)>;
  using B = WgmmaTile<TileB<kConfig>, bits_of(kConfig.input)>;
  using Part = float[kPartColumns / 2];

  WGRAD_DEVICE static Part& part_of(Accumulators<kConfig>& d, u32 part) {
    return reinterpret_cast<Part&>(d.band[0][part * kPartColumns / 2]);
  }

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;
  Epilogue<kConfig> epilogue;
  WorkQueue<kConfig> queue;
  u32 warpgroup = 0;  // among the math warpgroups
  StageCursor<kConfig> at{};

  // One stage: all its k steps in one group, left in flight. `keep` 0 starts a new sum. 128 columns
  // at a time: the converters' registers leave the compiler too few for more.
  WGRAD_DEVICE void multiply_stage(Accumulators<kConfig>& d, u32 stage, u32 keep) const {
    const u64 a = A::descriptor(pipeline.a(stage) + warpgroup * A::kBandBytes);
    const u64 b = B::descriptor(pipeline.b(stage));
    arch::wgmma_fence();
#pragma unroll
    for (u32 s = 0; s < kSteps<kConfig>; ++s) {
#pragma unroll
      for (u32 part = 0; part < kParts; ++part) {
        arch::wgmma_k16<kConfig.input, A::kTranspose, B::kTranspose>(
            part_of(d, part), a + A::step(s), b + B::step(s) + part * kPartBytes / 16,
            s == 0 ? keep : 1);
      }
    }
    arch::wgmma_commit();
  }

  // All decoded stages of a tile. A stage is released one late, when the next group is already
  // running.
  WGRAD_DEVICE void multiply(Accumulators<kConfig>& d, const Work& w) {
    u32 previous = 0, keep = 0;
    for (i32 block = 0; block < w.blocks; at.advance()) {
      pipeline.wait_full(at);
      const u32 flags = arch::load_shared_u32(pipeline.flags(at.slot));
      multiply_stage(d, at.slot, keep);
      if (keep != 0) {
        arch::wgmma_wait<1>();
        pipeline.arrive_together(pipeline.empty(previous));
      } else if constexpr (reads_output(kConfig)) {
        epilogue.fetch_first(w);
      }
      if constexpr (reduces_output(kConfig)) {
        if (block == max_of(w.blocks - kPrefetchLead, 0)) epilogue.prefetch_first(w);
      }
      previous = at.slot;
      keep = 1;
      block += i32(flags & kLastOfTokens);
    }
    arch::wgmma_wait<0>();
    d.pin();
    if (w.blocks > 0) pipeline.arrive_together(pipeline.empty(previous));
  }

  WGRAD_DEVICE void run() {
    for (;; queue.at.advance()) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the first product sets them
      Accumulators<kConfig> d;
      const Work w = queue.read();
      if (w.blocks < 0) break;
      if (w.blocks == 0 || arch::kSetsAccumulators) d.clear();
      multiply(d, w);
      const Work done = queue.read_again();
      if constexpr (kConfig.global_scale) {
        const arch::Quad extra = arch::load_shared_quad(queue.extra_entry());
        apply_factors(d, {extra.value[1], extra.value[2]});
      }
      queue.let_go_together();
      epilogue.write_out(d, done);
    }
    epilogue.finish();
  }
};

}  // namespace wgrad::device
