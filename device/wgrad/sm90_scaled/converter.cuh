// The converters: warpgroups that decode raw stages into what wgmma reads. A stage whose scale
// factors and elements BF16 holds becomes one decoded stage. Any other, told by all converters
// together, becomes one for each rendering (shared/element.hpp).
#pragma once

#include "wgrad/sm90_scaled/columns.cuh"
#include "wgrad/sm90_scaled/convert_columns.cuh"
#include "wgrad/sm90_scaled/convert_rows.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
struct Converter {
  static constexpr u32 kThreads = u32(converter_threads(kConfig));
  static constexpr Place kMultipliers = place_of(kConfig, "multipliers");
  static constexpr u32 kMeeting = 1;  // named barrier of the converters

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;
  u32 thread = 0;               // among the converters
  u32 table = 0;                // which half of the multipliers this stage uses
  StageCursor<kConfig> held{};  // the last rendering
  bool holds = false;           // and it may still be multiplied

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
    return cta.smem + kMultipliers.at + table * kMultipliers.bytes;
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
  // `first`: the decoded stage's first token in the raw one.
  template <bool kOfA>
  WGRAD_DEVICE void render(const StageOperand& s, u32 first, const Rendering& r) const {
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
          RowConverter<kConfig, kOfA>::write_each(s, row, first, block, bits);
      });
    }
  }

  WGRAD_DEVICE void hand_over(StageCursor<kConfig>& to, u32 flags) const {
    if (thread == 0) arch::store_shared_u32(pipeline.flags(to.slot), flags);
    arch::fence_async_shared();
    pipeline.arrive_together(pipeline.full(to.slot));
    to.advance();
  }

  // Decoded stages of a raw one, one after the other.
  WGRAD_DEVICE static u32 halves(const StageOperand& s) {
    return kConfig.registers_a && s.tokens > kConfig.tile_k ? 2 : 1;
  }

  // Renderings share one tile of A where registers_a: it is free once the last one is multiplied.
  WGRAD_DEVICE void wait_empty(const StageCursor<kConfig>& to) {
    pipeline.wait_empty(to);
    if (to.slot == held.slot) holds = false;
  }
  WGRAD_DEVICE void wait_held() {
    if (holds) arch::barrier_wait(pipeline.empty(held.slot), held.parity);
    holds = false;
  }

  WGRAD_DEVICE void convert_direct([[maybe_unused]] StageOperand a, StageOperand b,
                                   StageCursor<kConfig>& to) {
    const u32 count = halves(b);
#pragma unroll 1
    for (u32 half = 0; half < count; ++half) {
      wait_empty(to);
      b.tile = pipeline.b(to.slot);
      if constexpr (kConfig.registers_a) {
        for_each_row<false>(
            [&](u32 row) { RowConverter<kConfig, false>::convert_units(b, row, half); });
      } else {
        a.tile = pipeline.a(to.slot);
        convert<true>(a);
        convert<false>(b);
      }
      hand_over(to, half + 1 == count ? kLastOfTokens : 0);
    }
  }

  // Rendering `index` of `half` of a raw stage.
  WGRAD_DEVICE void convert_rendering(const Work& w, i32 block, u32 raw, u32 half, u32 index,
                                      StageCursor<kConfig>& to) {
    const StageCursor<kConfig> own = to;
    const u32 first = half * u32(kConfig.tile_k);
    wait_empty(to);
    if constexpr (kConfig.registers_a) wait_held();
    StageOperand a = operand<true>(w, block, raw);
    a.tile = pipeline.a(to.slot);
    render<true>(a, first, rendering_of_a(index));
    StageOperand b = operand<false>(w, block, raw);
    b.tile = pipeline.b(to.slot);
    render<false>(b, first, rendering_of_b(index));
    const bool last = half + 1 == halves(b) && index + 1 == kRenderings;
    hand_over(to, (last ? kLastOfTokens : 0) | kIsRendered);
    held = own;
    holds = true;
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

  WGRAD_DEVICE void render_stage(const Work& w, i32 block, u32 raw, StageCursor<kConfig>& to) {
    const u32 count = halves(operand<false>(w, block, raw));
#pragma unroll 1
    for (u32 half = 0; half < count; ++half) {
#pragma unroll 1
      for (u32 i = 0; i < kRenderings; ++i) convert_rendering(w, block, raw, half, i, to);
    }
  }

  WGRAD_DEVICE void convert_stage(const Work& w, i32 block, u32 raw, StageCursor<kConfig>& to) {
    if (needs_renderings(operand<true>(w, block, raw), operand<false>(w, block, raw))) {
      render_stage(w, block, raw, to);
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
      for (i32 block = 0; block < raw_blocks(kConfig, w.blocks); ++block, from.advance()) {
        pipeline.wait_raw_full(from);
        convert_stage(w, block, from.slot, to);
      }
    }
  }
};

}  // namespace wgrad::device
