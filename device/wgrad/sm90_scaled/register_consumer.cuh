// A math warpgroup that decodes A itself: a thread's codes become its fragments, a step of 16
// tokens ahead of the multiplication, and are read a decoded stage ahead. Only B is decoded into
// stages.
#pragma once

#include "wgrad/sm90_scaled/consumer.cuh"
#include "wgrad/sm90_scaled/scale_range.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
struct RegisterConsumer {
  static constexpr u32 kBands = Accumulators<kConfig>::kBands;
  static constexpr u32 kRows = 2 * kBands;  // of a thread
  static constexpr u32 kStepsOfStage = kSteps<kConfig>;
  using Reader = UnitReader<kConfig, true>;
  using Near = NearA<kConfig>;
  using B = WgmmaTile<TileB<kConfig>, bits_of(kConfig.input)>;

  // One thread's units of a decoded stage, and codes of their scale factors or what these become.
  struct Codes {
    u32 words[kRows][Reader::kWords];
    u32 by[kRows];
  };
  // Of the tile's rows of A.
  struct TileRows {
    bool is_shifted;
    u32 first;  // the thread's first, or another in the matrix in place of one that is not
  };
  // A decoded stage among those of the raw stage at hand, from which on the expert has `left`
  // tokens.
  struct Walk {
    i32 left;
    u32 stage;
    u32 stages;
  };
  struct Fragments {
    u32 a[kBands][4];
  };

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;
  Epilogue<kConfig> epilogue;
  WorkQueue<kConfig> queue;
  u32 row = 0;   // the thread's first in the tile
  u32 quad = 0;  // the thread among the four that share its rows
  RawCursor<kConfig> raw{};
  RangeOfStage range{};  // of the raw stage at hand
  StageCursor<kConfig> at{};
  i32 previous = -1;  // the decoded stage that is being multiplied

  WGRAD_DEVICE static u32 row_of(u32 first, u32 i) {
    return first + i / 2 * u32{kWarpgroupRows} + i % 2 * 8;
  }

  // A in the raw stage at hand.
  WGRAD_DEVICE StageOperand operand(const TileRows& rows, i32 left) const {
    const Work w = queue.read_again();
    return stage_operand<kConfig, true>(cta, pipeline, w, w.tokens.end - left, raw.slot,
                                        rows.is_shifted);
  }

  // The raw stage at hand, of which nothing is decoded yet.
  WGRAD_DEVICE Walk enter(const TileRows& rows, i32 left) {
    range = wait_range(pipeline, raw);
    return {left, 0, stages_of<kConfig>(left, rows.is_shifted)};
  }
  // To the next decoded stage, if any is left.
  WGRAD_DEVICE void advance(Walk& w, const TileRows& rows) {
    if (++w.stage < w.stages) return;
    w.left -= used_raw_tokens(kConfig, rows.is_shifted);
    raw.advance();
    if (w.left <= 0) return;
    w = enter(rows, w.left);
    if constexpr (reduces_output(kConfig)) {
      if (w.left <= used_raw_tokens(kConfig, rows.is_shifted))
        epilogue.prefetch_first(queue.read_again());
    }
  }
  WGRAD_DEVICE bool is_near(const Walk& w) const {
    return w.left > 0 && range.range == ScaleRange::kNear;
  }
  // kWhole: and as is_whole().
  template <bool kWhole>
  WGRAD_DEVICE bool follows(const TileRows& rows, const Walk& w) const {
    if (!kWhole) return is_near(w);
    return is_whole<kConfig>(w.left, rows.is_shifted) && range.range == ScaleRange::kNear;
  }

  // A raw stage may be filled again once its last codes are read.
  template <bool kWhole>
  WGRAD_DEVICE void load(Codes& c, const TileRows& rows, const Walk& w) const {
    const u32 stages = kWhole ? kStagesOfRaw<kConfig> : w.stages;
    const u32 unit = quad * stages + w.stage;
    StageOperand s{};
    if (!kWhole && rows.is_shifted) {
      s = operand(rows, w.left);
#pragma unroll
      for (u32 i = 0; i < kRows; ++i)
        Reader::load_shifted(s, row_of(rows.first, i), unit, c.words[i]);
    } else {
      s.codes = pipeline.raw_a(raw.slot);
      s.scales = pipeline.scales_a(raw.slot);
      s.tokens = w.left;
      const u32 codes = Reader::at(s, rows.first, unit);
#pragma unroll
      for (u32 i = 0; i < kRows; ++i)
        Reader::load(codes + row_of(0, i) * u32{kSwizzleBytes}, c.words[i]);
    }
    const u32 scales = Reader::template scale_at<kWhole>(s, rows.first, unit);
#pragma unroll
    for (u32 i = 0; i < kRows; ++i)
      c.by[i] = arch::load_shared_u8(scales + scale_offset<Reader::S::kAtoms>(row_of(0, i)));
    if (!kWhole && w.left < i32(stages) * kConfig.tile_k) mask(c, w.left - i32(unit) * kUnitTokens);
    if (w.stage + 1 == stages) pipeline.arrive_together(pipeline.raw_empty(raw.slot));
  }
  WGRAD_DEVICE static void mask(Codes& c, i32 left) {
#pragma unroll
    for (u32 i = 0; i < kRows; ++i) {
      Reader::mask(c.words[i], left);
      if (left <= 0) c.by[i] = 0;
    }
  }
  WGRAD_DEVICE void make_multipliers(Codes& c) const {
#pragma unroll
    for (u32 i = 0; i < kRows; ++i) c.by[i] = Near::multiplier(c.by[i], range.least_a);
  }
  WGRAD_DEVICE static void decode(Fragments& f, const Codes& c, u32 step) {
#pragma unroll
    for (u32 i = 0; i < kRows; ++i)
      Near::pairs(c.words[i], c.by[i], step, f.a[i / 2][i % 2], f.a[i / 2][i % 2 + 2]);
  }

  WGRAD_DEVICE void release_previous() {
    if (previous >= 0) pipeline.arrive_together(pipeline.empty(u32(previous)));
    previous = -1;
  }

  // One step of a decoded stage; afterwards kInFlight steps may still be multiplied.
  template <InputType kInput, u32 kInFlight>
  WGRAD_DEVICE void multiply_step(Accumulators<kConfig>& d, const Fragments& f, u32 step,
                                  u32 keep) const {
    const u64 b = B::descriptor(pipeline.b(at.slot)) + B::step(step);
    arch::wgmma_fence();
#pragma unroll
    for (u32 band = 0; band < kBands; ++band)
      arch::wgmma_k16<kInput, 0>(d.band[band], f.a[band], b, keep);
    arch::wgmma_commit();
    arch::wgmma_wait<kInFlight>();
  }

  // A decoded stage, whose first step is in f[0]; afterwards that of the stage after it is, if
  // there is one. Codes of that one take the place of this one's once the last step is decoded.
  template <bool kWhole>
  WGRAD_DEVICE void multiply_near(Accumulators<kConfig>& d, Fragments (&f)[2], Codes& c, u32& keep,
                                  const TileRows& rows, Walk& w) {
    pipeline.wait_full(at);
#pragma unroll
    for (u32 step = 0; step < kStepsOfStage; ++step) {
      multiply_step<InputType::kFp16, 1>(d, f[step % 2], step, step == 0 ? keep : 1);
      keep = 1;
      if (step == 0) release_previous();
      if (step + 1 < kStepsOfStage) {
        decode(f[(step + 1) % 2], c, step + 1);
      } else if (follows<kWhole>(rows, w)) {
        make_multipliers(c);
        decode(f[0], c, 0);
      }
      if (step + 2 == kStepsOfStage) {
        advance(w, rows);
        if (follows<kWhole>(rows, w)) load<kWhole>(c, rows, w);
      }
    }
    previous = i32(at.slot);
    at.advance();
  }

  // Stages that are near each other, as far as they follow each other. Whole ones have a loop of
  // their own: what only others need would stand in the way of the instruction cache.
  template <bool kWhole>
  WGRAD_DEVICE void multiply_near_stages(Accumulators<kConfig>& d, const TileRows& rows, Walk& w,
                                         u32& keep) {
    Fragments f[2];
    Codes c;  // NOLINT(cppcoreguidelines-pro-type-member-init): read before any use
    load<kWhole>(c, rows, w);
    make_multipliers(c);
    decode(f[0], c, 0);
    // NOLINTNEXTLINE(bugprone-infinite-loop): multiply_near advances
    while (follows<kWhole>(rows, w)) multiply_near<kWhole>(d, f, c, keep, rows, w);
    arch::wgmma_wait<0>();
    d.pin();
    release_previous();
  }

  // A decoded stage in BF16, one step after the other. `pairs(row, step, first, second)` gives a
  // row's part of a step. Rows one by one, and values picked instead of indexed: few registers.
  template <typename Pairs>
  WGRAD_DEVICE void multiply_steps(Accumulators<kConfig>& d, u32 first_row, u32& keep,
                                   const Pairs& pairs) {
    pipeline.wait_full(at);
#pragma unroll 1
    for (u32 step = 0; step < kStepsOfStage; ++step) {
      Fragments f{};
#pragma unroll 1
      for (u32 i = 0; i < kRows; ++i) {
        u32 first = 0, second = 0;
        pairs(row_of(first_row, i), step, first, second);
#pragma unroll
        for (u32 j = 0; j < kRows; ++j) {
          if (j != i) continue;
          f.a[j / 2][j % 2] = first;
          f.a[j / 2][j % 2 + 2] = second;
        }
      }
      multiply_step<InputType::kBf16, 0>(d, f, step, keep);
      keep = 1;
    }
    pipeline.arrive_together(pipeline.empty(at.slot));
    at.advance();
  }

  WGRAD_DEVICE void multiply_direct(Accumulators<kConfig>& d, const StageOperand& s, u32 first_row,
                                    u32 unit, u32& keep) {
    multiply_steps(d, first_row, keep, [&](u32 of_row, u32 step, u32& first, u32& second) {
      Reader::read_pairs(s, of_row, unit, step, Reader::multiplier(s, of_row, unit), first, second);
    });
  }
  WGRAD_DEVICE void multiply_rendering(Accumulators<kConfig>& d, const StageOperand& s,
                                       u32 first_row, u32 unit, const Rendering& r, u32& keep) {
    multiply_steps(d, first_row, keep, [&](u32 of_row, u32 step, u32& first, u32& second) {
      first = Reader::rendered_pair(s, of_row, unit, step, 0, r);
      second = Reader::rendered_pair(s, of_row, unit, step, 1, r);
    });
  }

  // Every other stage of a tile.
  WGRAD_DEVICE void multiply_other_stages(Accumulators<kConfig>& d, const TileRows& rows, Walk& w,
                                          u32& keep) {
    while (w.left > 0) {
      const StageOperand s = operand(rows, w.left);
      const u32 unit = quad * w.stages + w.stage;
      if (range.range == ScaleRange::kDirect) {
        multiply_direct(d, s, rows.first, unit, keep);
      } else {
#pragma unroll 1
        for (u32 i = 0; i < kRenderings; ++i)
          multiply_rendering(d, s, rows.first, unit, rendering_of_a(i), keep);
      }
      if (w.stage + 1 == w.stages) pipeline.arrive_together(pipeline.raw_empty(raw.slot));
      advance(w, rows);
    }
    d.pin();
  }

  // `left`: the expert's tokens, of which there are some.
  WGRAD_DEVICE void multiply(Accumulators<kConfig>& d, const TileRows& rows, i32 left) {
    u32 keep = 0;
    Walk w = enter(rows, left);
    if (range.range == ScaleRange::kNear) {
      const u32 least_a = range.least_a, least_b = range.least_b;
      if (is_whole<kConfig>(left, rows.is_shifted)) multiply_near_stages<true>(d, rows, w, keep);
      if (is_near(w)) multiply_near_stages<false>(d, rows, w, keep);
      apply_factors(d, {Near::taken_back(least_a), NearB<kConfig>::taken_back(least_b)});
    }
    if constexpr (checks_range(kConfig)) multiply_other_stages(d, rows, w, keep);
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
      const TileRows rows{are_shifted(cta, w.tokens),
                          i32(row) < cta.params.m - w.m0 ? row : row % u32{kScaleAtomRows}};
      if (w.blocks > 0) multiply(d, rows, w.tokens.end - w.tokens.begin);
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
