// The converter where A is decoded in registers: a warpgroup decodes columns of B into the order of
// units (units.cuh), one column a thread.
#pragma once

#include "wgrad/sm90_scaled/scale_range.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
struct UnitConverter {
  using Reader = UnitReader<kConfig, false>;
  using Near = NearB<kConfig>;
  // Of the column, what becomes one decoded stage.
  struct Codes {
    u32 words[kUnitsOfStage][Reader::kWords];
    u32 scale[kUnitsOfStage];
  };

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;
  u32 row = 0;  // column of B that the thread decodes
  StageCursor<kConfig> to{};

  template <bool kWhole>
  WGRAD_DEVICE void load(Codes& c, const StageOperand& s, u32 stage, u32 stages) const {
#pragma unroll
    for (u32 q = 0; q < kUnitsOfStage; ++q) {
      const u32 unit = stages * q + stage;
      if (!kWhole && s.is_shifted) {
        Reader::load_shifted(s, row, unit, c.words[q]);
      } else {
        Reader::load(Reader::at(s, row, unit), c.words[q]);
      }
      c.scale[q] = arch::load_shared_u8(Reader::template scale_at<kWhole>(s, row, unit));
    }
    if (!kWhole && s.tokens < i32(stages) * kConfig.tile_k) mask(c, s.tokens, stage, stages);
  }
  // An expert's last tokens: what follows them counts as zero.
  WGRAD_DEVICE static void mask(Codes& c, i32 tokens, u32 stage, u32 stages) {
#pragma unroll
    for (u32 q = 0; q < kUnitsOfStage; ++q) {
      const i32 left = tokens - i32(stages * q + stage) * kUnitTokens;
      if (left < kUnitTokens) Reader::mask(c.words[q], left);
      if (left <= 0) c.scale[q] = 0;
    }
  }

  // Chunk 2s of a step s holds its first pairs, the next one its second.
  template <typename Pairs>
  WGRAD_DEVICE void write(const Pairs& pairs) const {
    const u32 tile = pipeline.b(to.slot);
#pragma unroll
    for (u32 step = 0; step < kUnitsOfStage; ++step) {
      arch::Chunk first{}, second{};
#pragma unroll
      for (u32 q = 0; q < kUnitsOfStage; ++q) pairs(q, step, first.word[q], second.word[q]);
      arch::store_shared(swizzled(tile, row, 2 * step), first);
      arch::store_shared(swizzled(tile, row, 2 * step + 1), second);
    }
  }
  WGRAD_DEVICE void hand_over() {
    arch::fence_async_shared();
    pipeline.arrive_together(pipeline.full(to.slot));
    to.advance();
  }

  // The codes of the stage after are read before this one is handed over. A raw stage may be filled
  // again once its last codes are read. kWhole: as is_whole(); what only others need would stand in
  // the way of the instruction cache.
  template <bool kWhole>
  WGRAD_DEVICE void convert_near(const StageOperand& s, u32 raw, u32 least) {
    const u32 stages = kWhole ? kStagesOfRaw<kConfig> : stages_of<kConfig>(s.tokens, s.is_shifted);
    Codes c;  // NOLINT(cppcoreguidelines-pro-type-member-init): read before any use
    load<kWhole>(c, s, 0, stages);
#pragma unroll 1
    for (u32 stage = 1;; ++stage) {
      u32 by[kUnitsOfStage];
#pragma unroll
      for (u32 q = 0; q < kUnitsOfStage; ++q) by[q] = Near::multiplier(c.scale[q], least);
      pipeline.wait_empty(to);
      write([&](u32 q, u32 step, u32& first, u32& second) {
        Near::pairs(c.words[q], by[q], step, first, second);
      });
      if (stage < stages) load<kWhole>(c, s, stage, stages);
      hand_over();
      if (stage == stages) break;
    }
    pipeline.arrive_together(pipeline.raw_empty(raw));
  }

  WGRAD_DEVICE void convert_direct(const StageOperand& s, u32 stage, u32 stages) {
    u32 words[kUnitsOfStage][Reader::kWords], by[kUnitsOfStage], any = 0;
#pragma unroll
    for (u32 q = 0; q < kUnitsOfStage; ++q) {
      Reader::read(s, row, stages * q + stage, words[q]);
      by[q] = Reader::multiplier(s, row, stages * q + stage);
      any |= Reader::specials(words[q]);
    }
    pipeline.wait_empty(to);
    write([&](u32 q, u32 step, u32& first, u32& second) {
      Reader::pairs(words[q], by[q], any != 0, step, first, second);
    });
    hand_over();
  }

  WGRAD_DEVICE void convert_renderings(const StageOperand& s, u32 stage, u32 stages) {
#pragma unroll 1
    for (u32 index = 0; index < kRenderings; ++index) {
      pipeline.wait_empty(to);
      const u32 tile = pipeline.b(to.slot);
#pragma unroll 1
      for (u32 i = 0; i < 2 * kUnitsOfStage * kUnitsOfStage; ++i) {
        const u32 q = i % kUnitsOfStage, chunk = i / kUnitsOfStage;
        const u32 pair = Reader::rendered_pair(s, row, stages * q + stage, chunk / 2, chunk % 2,
                                               rendering_of_b(index));
        arch::store_shared_u32(swizzled(tile, row, chunk) + 4 * q, pair);
      }
      hand_over();
    }
  }

  WGRAD_DEVICE void convert_stages(const StageOperand& s, u32 raw, ScaleRange range) {
    const u32 stages = stages_of<kConfig>(s.tokens, s.is_shifted);
#pragma unroll 1
    for (u32 stage = 0; stage < stages; ++stage) {
      if (range == ScaleRange::kDirect) {
        convert_direct(s, stage, stages);
      } else {
        convert_renderings(s, stage, stages);
      }
    }
    pipeline.arrive_together(pipeline.raw_empty(raw));
  }

  WGRAD_DEVICE void run() {
    RawCursor<kConfig> from;
    for (WorkQueue<kConfig> queue{cta.smem};; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      queue.let_go_together();
      const bool shifted = are_shifted(cta, w.tokens);
      for (i32 block = 0; block < raw_blocks(kConfig, w.blocks, shifted); ++block, from.advance()) {
        const i32 token = w.tokens.begin + block * used_raw_tokens(kConfig, shifted);
        const StageOperand s =
            stage_operand<kConfig, false>(cta, pipeline, w, token, from.slot, shifted);
        const RangeOfStage r = wait_range(pipeline, from);
        if (r.range == ScaleRange::kNear && is_whole<kConfig>(s.tokens, shifted)) {
          convert_near<true>(s, from.slot, r.least_b);
        } else if (r.range == ScaleRange::kNear) {
          convert_near<false>(s, from.slot, r.least_b);
        } else if constexpr (checks_range(kConfig)) {
          convert_stages(s, from.slot, r.range);
        }
      }
    }
  }
};

}  // namespace wgrad::device
