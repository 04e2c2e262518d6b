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
  static constexpr bool kRenders = kConfig.scale == ScaleType::kE8m0;
  using Reader = UnitReader<kConfig, true>;
  using B = WgmmaTile<TileB<kConfig>, bits_of(kConfig.input)>;

  // One thread's units of a decoded stage.
  struct Codes {
    u32 words[kRows][Reader::kWords];
    u32 by[kRows];
    bool special;
  };
  // Of the tile's rows of A, what their codes' places follow (StageOperand).
  struct TileRows {
    u32 shift;
    u32 turn;
    i32 count;
  };
  struct Fragments {
    u32 a[kBands][4];
  };

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;
  Epilogue<kConfig> epilogue;
  WorkQueue<kConfig> queue;
  u32 row = 0;  // the thread's first in the tile
  RawCursor<kConfig> raw{};
  StageCursor<kConfig> at{};
  i32 previous = -1;  // the decoded stage that is being multiplied

  // A in the raw stage at hand, of whose expert `left` tokens are left.
  WGRAD_DEVICE StageOperand operand(const TileRows& rows, i32 left) const {
    StageOperand s{};
    s.codes = pipeline.raw_a(raw.slot);
    s.scales = pipeline.scales_a(raw.slot);
    s.shift = rows.shift;
    s.turn = rows.turn;
    s.rows = rows.count;
    s.tokens = left;
    return s;
  }

  WGRAD_DEVICE void load(Codes& c, const TileRows& rows, i32 left, u32 half) const {
    const StageOperand s = operand(rows, left);
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

  WGRAD_DEVICE void release_previous() {
    if (previous >= 0) pipeline.arrive_together(pipeline.empty(u32(previous)));
    previous = -1;
  }

  // One step of a decoded stage; afterwards kInFlight steps may still be multiplied.
  template <u32 kInFlight>
  WGRAD_DEVICE void multiply_step(Accumulators<kConfig>& d, const Fragments& f, u32 step,
                                  u32 keep) const {
    const u64 b = B::descriptor(pipeline.b(at.slot)) + B::step(step);
    arch::wgmma_fence();
#pragma unroll
    for (u32 band = 0; band < kBands; ++band)
      arch::wgmma_k16<kConfig.input, 0>(d.band[band], f.a[band], b, keep);
    arch::wgmma_commit();
    arch::wgmma_wait<kInFlight>();
  }

  // Fragments of a rendering's tile of A.
  WGRAD_DEVICE void load_rendered(Fragments& f, u32 step) const {
    const u32 lane = arch::lane_index(), first = row - lane / 4 + lane % 16;
#pragma unroll
    for (u32 band = 0; band < kBands; ++band) {
      const arch::Chunk c = arch::load_matrices(
          swizzled(pipeline.a(at.slot), first + band * u32{kWarpgroupRows}, 2 * step + lane / 16));
#pragma unroll
      for (u32 i = 0; i < 4; ++i) f.a[band][i] = c.word[i];
    }
  }

  // Every rendering of a raw stage.
  WGRAD_DEVICE void multiply_renderings(Accumulators<kConfig>& d, Fragments& f, u32& keep) {
    for (u32 flags = 0; (flags & kLastOfTokens) == 0; at.advance()) {
      pipeline.wait_full(at);
      flags = arch::load_shared_u32(pipeline.flags(at.slot));
#pragma unroll 1
      for (u32 step = 0; step < kStepsOfStage; ++step) {
        load_rendered(f, step);
        multiply_step<0>(d, f, step, keep);
        keep = 1;
      }
      pipeline.arrive_together(pipeline.empty(at.slot));
    }
  }

  // A decoded stage in `c`, of which the first step is in f[0]. `next()` brings the codes that
  // follow, if any, into `c`, as soon as those of the last step are decoded.
  template <typename Next>
  WGRAD_DEVICE void multiply_stage(Accumulators<kConfig>& d, Fragments (&f)[2], const Codes& c,
                                   u32& keep, const Next& next) {
#pragma unroll
    for (u32 step = 0; step < kStepsOfStage; ++step) {
      multiply_step<1>(d, f[step % 2], step, keep);
      keep = 1;
      if (step == 0) release_previous();
      decode(f[(step + 1) % 2], c, (step + 1) % kStepsOfStage);
      if (step + 2 == kStepsOfStage) next();
    }
    previous = i32(at.slot);
    at.advance();
  }

  // The codes of a decoded stage; after those of a raw stage's last one it may be filled again.
  WGRAD_DEVICE void bring(Codes& c, const TileRows& rows, i32 left, u32 half) const {
    load(c, rows, left, half);
    const bool last = half == 1 || left <= raw_tokens(kConfig) / 2;
    if (last) pipeline.arrive_together(pipeline.raw_empty(raw.slot));
  }

  // `left`: the expert's tokens.
  WGRAD_DEVICE void multiply(Accumulators<kConfig>& d, const TileRows& rows, i32 left) {
    constexpr i32 kStage = raw_tokens(kConfig);
    if (left == 0) return;
    u32 keep = 0, half = 0;
    Fragments f[2];
    Codes c;  // NOLINT(cppcoreguidelines-pro-type-member-init): brought before any use
    const auto next = [&](bool raw_done) {
      half ^= 1;
      if (raw_done) {
        half = 0;
        left -= kStage;
        raw.advance();
        if (left <= 0) return;
        pipeline.wait_raw_full(raw);
      }
      bring(c, rows, left, half);
    };
    pipeline.wait_raw_full(raw);
    bring(c, rows, left, 0);
    decode(f[0], c, 0);
    while (left > 0) {  // NOLINT(bugprone-infinite-loop): next() counts
      const bool last = half == 1 || left <= kStage / 2;
      if constexpr (reduces_output(kConfig)) {
        if (half == 0 && left <= 2 * kStage && left > kStage)
          epilogue.prefetch_first(queue.read_again());
      }
      pipeline.wait_full(at);
      if constexpr (kRenders) {
        if ((arch::load_shared_u32(pipeline.flags(at.slot)) & kIsRendered) != 0) {
          arch::wgmma_wait<0>();
          release_previous();
          multiply_renderings(d, f[0], keep);
          if (!last) pipeline.arrive_together(pipeline.raw_empty(raw.slot));
          next(true);
          decode(f[0], c, 0);
          continue;
        }
      }
      multiply_stage(d, f, c, keep, [&] { next(last); });
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
      const KMajorRows<kConfig, true> rows(scaled_params(cta), w.tokens);
      multiply(d, {u32(rows.start(u32(w.m0))), u32(rows.pitch), cta.params.m - w.m0},
               w.blocks > 0 ? w.tokens.end - w.tokens.begin : 0);
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
