// A math warpgroup that decodes A itself: a thread's codes become its fragments, a step of 16
// tokens ahead of the multiplication. Only B is decoded into stages.
#pragma once

#include "wgrad/sm90_scaled/consumer.cuh"
#include "wgrad/sm90_scaled/units.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
struct RegisterConsumer {
  static constexpr u32 kBands = Accumulators<kConfig>::kBands;
  static constexpr u32 kRows = 2 * kBands;  // of a thread
  static constexpr u32 kStepsOfStage = kSteps<kConfig>;
  using Reader = UnitReader<kConfig, true>;
  using A = WgmmaTile<TileA<kConfig>, bits_of(kConfig.input)>;
  using B = WgmmaTile<TileB<kConfig>, bits_of(kConfig.input)>;

  // One thread's units of a decoded stage.
  struct Codes {
    u32 words[kRows][Reader::kWords];
    u32 by[kRows];
    bool special;
  };
  struct Fragments {
    u32 a[kBands][4];
  };

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;
  Epilogue<kConfig> epilogue;
  WorkQueue<kConfig> queue;
  u32 row;  // the thread's first in the tile
  RawCursor<kConfig> raw{};
  StageCursor<kConfig> at{};
  i32 previous = -1;  // the decoded stage that is being multiplied

  WGRAD_DEVICE StageOperand operand(const Work& w, i32 left) const {
    return stage_operand<kConfig, true>(cta, pipeline, w, w.tokens.end - left, raw.slot);
  }

  WGRAD_DEVICE void load(Codes& c, const Work& w, i32 left, u32 half) const {
    const StageOperand s = operand(w, left);
    const u32 unit = unit_of(arch::lane_index() % 4, half, left);
    u32 any = 0;
#pragma unroll
    for (u32 i = 0; i < kRows; ++i) {
      const u32 r = row + i / 2 * u32{kWarpgroupRows} + i % 2 * 8;
      c.by[i] = Reader::read(s, r, unit, c.words[i]);
      any |= Reader::specials(c.words[i]);
    }
    c.special = any != 0;
  }

  WGRAD_DEVICE static void decode(Fragments& f, const Codes& c, u32 step) {
#pragma unroll
    for (u32 i = 0; i < kRows; ++i)
      Reader::pairs(c.words[i], c.by[i], c.special, step, f.a[i / 2][i % 2], f.a[i / 2][i % 2 + 2]);
  }

  // The raw stage's codes are in this warp's registers.
  WGRAD_DEVICE void release_raw() {
    pipeline.arrive_together(pipeline.raw_empty(raw.slot));
    raw.advance();
  }
  WGRAD_DEVICE void release_previous() {
    if (previous >= 0) pipeline.arrive_together(pipeline.empty(u32(previous)));
    previous = -1;
  }

  // One step of a decoded stage, left in flight; the one before it is complete afterwards.
  WGRAD_DEVICE void multiply_step(Accumulators<kConfig>& d, const Fragments& f, u32 step,
                                  u32 keep) const {
    const u64 b = B::descriptor(pipeline.b(at.slot)) + B::step(step);
    arch::wgmma_fence();
#pragma unroll
    for (u32 band = 0; band < kBands; ++band)
      arch::wgmma_k16<kConfig.input, 0>(d.band[band], f.a[band], b, keep);
    arch::wgmma_commit();
    arch::wgmma_wait<1>();
  }

  // Every rendering of a raw stage, both operands from shared memory.
  WGRAD_DEVICE void multiply_renderings(Accumulators<kConfig>& d, u32& keep) {
    for (u32 flags = 0; (flags & kLastOfTokens) == 0; at.advance()) {
      pipeline.wait_full(at);
      flags = arch::load_shared_u32(pipeline.flags(at.slot));
      const u64 a = A::descriptor(pipeline.a(at.slot) + row / 64 * A::kBandBytes);
      const u64 b = B::descriptor(pipeline.b(at.slot));
      arch::wgmma_fence();
#pragma unroll
      for (u32 step = 0; step < kStepsOfStage; ++step) {
#pragma unroll
        for (u32 band = 0; band < kBands; ++band)
          arch::wgmma_k16<kConfig.input, 0, 0>(d.band[band], a + A::band(band) + A::step(step),
                                               b + B::step(step), step == 0 ? keep : 1);
      }
      arch::wgmma_commit();
      arch::wgmma_wait<0>();
      keep = 1;
      pipeline.arrive_together(pipeline.empty(at.slot));
    }
  }

  // A decoded stage in `c`, of which the first step is in f[0]. `next()` brings the codes that
  // follow, if any, into `c`, as soon as those of the last step are decoded.
  template <typename Next>
  WGRAD_DEVICE void multiply_stage(Accumulators<kConfig>& d, Fragments (&f)[2], Codes& c, u32& keep,
                                   const Next& next) {
#pragma unroll
    for (u32 step = 0; step < kStepsOfStage; ++step) {
      multiply_step(d, f[step % 2], step, keep);
      keep = 1;
      if (step == 0) release_previous();
      if (step + 2 == kStepsOfStage) {
        decode(f[(step + 1) % 2], c, step + 1);
        next();
      } else {
        decode(f[(step + 1) % 2], c, (step + 1) % kStepsOfStage);
      }
    }
    previous = i32(at.slot);
    at.advance();
  }

  WGRAD_DEVICE void multiply(Accumulators<kConfig>& d, const Work& w) {
    constexpr i32 kStage = raw_tokens(kConfig);
    if (w.blocks == 0) return;
    u32 keep = 0;
    Fragments f[2];
    Codes c;
    pipeline.wait_raw_full(raw);
    load(c, w, w.tokens.end - w.tokens.begin, 0);
    decode(f[0], c, 0);
    for (i32 left = w.tokens.end - w.tokens.begin; left > 0; left -= kStage) {
      const auto next_raw = [&] {
        release_raw();
        if (left <= kStage) return;
        pipeline.wait_raw_full(raw);
        load(c, w, left - kStage, 0);
      };
      pipeline.wait_full(at);
      if ((arch::load_shared_u32(pipeline.flags(at.slot)) & kIsRendered) != 0) {
        arch::wgmma_wait<0>();
        release_previous();
        multiply_renderings(d, keep);
        next_raw();
        decode(f[0], c, 0);
      } else if (left > kStage / 2) {
        multiply_stage(d, f, c, keep, [&] { load(c, w, left, 1); });
        pipeline.wait_full(at);
        multiply_stage(d, f, c, keep, next_raw);
      } else {
        multiply_stage(d, f, c, keep, next_raw);
      }
      if constexpr (reduces_output(kConfig)) {
        if (left <= 2 * kStage && left > kStage) epilogue.prefetch_first(w);
      }
    }
    arch::wgmma_wait<0>();
    d.pin();
    release_previous();
  }

  WGRAD_DEVICE void run() {
    for (;; queue.at.advance()) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the first product sets them
      Accumulators<kConfig> d;
      const Work w = queue.read();
      if (w.blocks < 0) break;
      if (w.blocks == 0 || arch::kSetsAccumulators) d.clear();
      if constexpr (reads_output(kConfig)) {
        if (w.blocks > 0) epilogue.fetch_first(w);
      }
      multiply(d, w);
      const Work done = queue.read_again();
      if constexpr (kConfig.global_scale)
        apply_global_factors(d, arch::load_shared_quad(queue.extra_entry()));
      queue.let_go_together();
      epilogue.write_out(d, done);
    }
    epilogue.finish();
  }
};

}  // namespace wgrad::device
