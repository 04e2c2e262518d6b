// The converters: warpgroups that decode raw stages into what wgmma reads. A stage whose scale
// factors and elements BF16 holds becomes one decoded stage. Any other, told by all converters
// together, becomes one for each rendering (shared/element.hpp).
#pragma once

#include "wgrad/sm90_scaled/convert_columns.cuh"
#include "wgrad/sm90_scaled/convert_rows.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
struct Converter {
  static constexpr u32 kThreads = u32(converter_threads(kConfig));
  static constexpr u32 kMeeting = 1;  // named barrier of the converters

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;
  u32 thread = 0;  // among the converters
  u32 table = 0;   // which half of the multipliers this stage uses

  // Rows of A, then columns of B, in turn: as many for each thread.
  template <bool kOfA>
  WGRAD_DEVICE u32 first_row() const {
    return kOfA ? thread : (thread + kThreads - u32(kConfig.tile_m) % kThreads) % kThreads;
  }
  template <bool kOfA, typename Act>
  WGRAD_DEVICE void for_each_row(const Act& act) const {
#pragma unroll 1
    for (u32 row = first_row<kOfA>(); row < Side<kConfig, kOfA>::kRows; row += kThreads) act(row);
  }
  template <bool kOfA, typename Act>
  WGRAD_DEVICE void for_each_task(const Act& act) const {
    for (u32 task = arch::warp_uniform(first_row<kOfA>() / 32);
         task < ColumnConverter<kConfig, kOfA>::kTasks; task += kThreads / 32)
      act(task);
  }

  // Before the converters meet: whether a row has a scale that takes more than one step, and, of an
  // MN-major operand, its multipliers.
  template <bool kOfA>
  WGRAD_DEVICE bool look_at_scales(const StageOperand& s) const {
    using S = Side<kConfig, kOfA>;
    constexpr u32 kColumns = u32(raw_columns(kConfig));
    bool suspect = false;
    for_each_row<kOfA>([&](u32 row) {
      if constexpr (is_mn_major(S::kRaw))
        ColumnConverter<kConfig, kOfA>::write_multipliers(s, multipliers(), row);
      if (i32(row) >= s.rows) return;
#pragma unroll
      for (u32 i = 0; i < kColumns; ++i) {
        if (s.tokens <= i32(i * S::kVec)) continue;
        const u32 codes = S::scale_codes(s, row, i / kScaleAtomColumns);
        if (!S::Codes::is_direct(codes >> (8 * (i % kScaleAtomColumns)) & 0xff)) suspect = true;
      }
    });
    return suspect;
  }
  template <bool kOfA>
  WGRAD_DEVICE bool look_at_elements(const StageOperand& s) const {
    bool any = false;
    for_each_row<kOfA>([&](u32 row) {
      if (i32(row) >= s.rows) return;
#pragma unroll 1
      for (u32 token = 0; i32(token) < min_of(s.tokens, raw_tokens(kConfig)); ++token)
        any = any || Side<kConfig, kOfA>::needs_renderings(s, row, token);
    });
    return any;
  }

  WGRAD_DEVICE u32 multipliers() const {
    return pipeline.multipliers(table);
  }

  template <bool kOfA>
  WGRAD_DEVICE void convert(const StageOperand& s) const {
    if constexpr (is_mn_major(Side<kConfig, kOfA>::kRaw)) {
      for_each_task<kOfA>(
          [&](u32 task) { ColumnConverter<kConfig, kOfA>::convert(s, multipliers(), task); });
    } else {
      for_each_row<kOfA>([&](u32 row) { RowConverter<kConfig, kOfA>::convert(s, row); });
    }
  }
  template <bool kOfA>
  WGRAD_DEVICE void render(const StageOperand& s, const Rendering& r) const {
    using S = Side<kConfig, kOfA>;
    const auto bits = [&](u32 code, u32 scale) { return rendered(S::kElement, code, scale, r); };
    if constexpr (is_mn_major(S::kRaw)) {
      for_each_task<kOfA>([&](u32 task) {
        ColumnConverter<kConfig, kOfA>::for_each_token(task, [&](u32 row, u32 token) {
          ColumnConverter<kConfig, kOfA>::write_each(s, row, token, bits);
        });
      });
    } else {
      for_each_row<kOfA>([&](u32 row) {
#pragma unroll 1
        for (u32 block = 0; block < stage_blocks(kConfig); ++block)
          RowConverter<kConfig, kOfA>::write_each(s, row, block, bits);
      });
    }
  }

  WGRAD_DEVICE void hand_over(StageCursor<kConfig>& to, u32 flags) const {
    if (thread == 0) arch::store_shared_u32(pipeline.flags(to.slot), flags);
    arch::fence_async_shared();
    pipeline.arrive_together(pipeline.full(to.slot));
    to.advance();
  }

  WGRAD_DEVICE void convert_direct(StageOperand a, StageOperand b, StageCursor<kConfig>& to) const {
    pipeline.wait_empty(to);
    a.tile = pipeline.a(to.slot);
    convert<true>(a);
    b.tile = pipeline.b(to.slot);
    convert<false>(b);
    hand_over(to, kLastOfTokens);
  }

  WGRAD_DEVICE void convert_rendering(const Work& w, i32 block, u32 raw, u32 index,
                                      StageCursor<kConfig>& to) const {
    pipeline.wait_empty(to);
    StageOperand a = operand<true>(w, block, raw);
    a.tile = pipeline.a(to.slot);
    render<true>(a, rendering_of_a(index));
    StageOperand b = operand<false>(w, block, raw);
    b.tile = pipeline.b(to.slot);
    render<false>(b, rendering_of_b(index));
    hand_over(to, index + 1 == kRenderings ? kLastOfTokens : 0);
  }

  WGRAD_DEVICE bool needs_renderings(const StageOperand& a, const StageOperand& b) const {
    const bool suspect = look_at_scales<true>(a) | look_at_scales<false>(b);
    if constexpr (kConfig.scale == ScaleType::kE4m3) return false;
    if (!arch::named_any(kMeeting, kThreads, suspect)) return false;
    return arch::named_any(kMeeting, kThreads,
                           look_at_elements<true>(a) || look_at_elements<false>(b));
  }

  template <bool kOfA>
  WGRAD_DEVICE StageOperand operand(const Work& w, i32 block, u32 raw) const {
    const i32 token = w.tokens.begin + block * raw_tokens(kConfig);
    return stage_operand<kConfig, kOfA>(cta, pipeline, w, token, raw);
  }

  WGRAD_DEVICE void convert_stage(const Work& w, i32 block, u32 raw, StageCursor<kConfig>& to) {
    if (needs_renderings(operand<true>(w, block, raw), operand<false>(w, block, raw))) {
#pragma unroll 1
      for (u32 i = 0; i < kRenderings; ++i) convert_rendering(w, block, raw, i, to);
    } else {
      convert_direct(operand<true>(w, block, raw), operand<false>(w, block, raw), to);
    }
    pipeline.arrive_together(pipeline.raw_empty(raw));
    table ^= 1;
  }

  WGRAD_DEVICE void run() {
    RawCursor<kConfig> from;
    StageCursor<kConfig> to;
    for (WorkQueue<kConfig> queue{cta.smem};; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      queue.let_go_together();
      for (i32 block = 0; block < w.blocks; ++block, from.advance()) {
        pipeline.wait_raw_full(from);
        convert_stage(w, block, from.slot, to);
      }
    }
  }
};

}  // namespace wgrad::device
