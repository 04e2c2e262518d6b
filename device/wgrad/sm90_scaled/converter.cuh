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
  static constexpr u32 kMeeting = 1;  // named barrier of the converters

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;
  u32 thread;     // among the converters
  u32 table = 0;  // which half of the multipliers this stage uses

  // Rows of A, then columns of B, in turn: as many for each thread.
  template <bool kOfA>
  WGRAD_DEVICE u32 first_row() const {
    return kOfA ? thread : (thread + kThreads - u32(kConfig.tile_m) % kThreads) % kThreads;
  }
  template <bool kOfA, typename Act>
  WGRAD_DEVICE void for_each_row(const Act& act) const {
    for (u32 row = first_row<kOfA>(); row < Side<kConfig, kOfA>::kRows; row += kThreads) act(row);
  }
  template <bool kOfA, typename Act>
  WGRAD_DEVICE void for_each_task(const Act& act) const {
    for (u32 task = arch::warp_uniform(first_row<kOfA>() / 32);
         task < ColumnConverter<kConfig, kOfA>::kTasks; task += kThreads / 32)
      act(task);
  }

  template <bool kOfA>
  WGRAD_DEVICE StageOperand operand(const Work& w, i32 block, u32 raw, u32 stage) const {
    using S = Side<kConfig, kOfA>;
    StageOperand s{};
    s.codes = kOfA ? pipeline.raw_a(raw) : pipeline.raw_b(raw);
    s.scales = kOfA ? pipeline.scales_a(raw) : pipeline.scales_b(raw);
    s.tile = kOfA ? pipeline.a(stage) : pipeline.b(stage);
    const i32 token = w.tokens.begin + block * kConfig.tile_k;
    if constexpr (!is_mn_major(S::kRaw)) {  // a stage is whole units
      const KMajorRows<kConfig, kOfA> rows(scaled_params(cta), w.tokens);
      s.shift = u32(rows.start(u32(kOfA ? w.m0 : w.n0)));
      s.turn = u32(rows.pitch);
    }
    s.column = u32(block * stage_columns(kConfig)) % u32{kScaleAtomColumns};
    s.rows = kOfA ? cta.params.m - w.m0 : cta.params.n - w.n0;
    s.tokens = w.tokens.end - token;
    return s;
  }

  // Before the converters meet: whether a row has a scale that takes more than one step, and, of an
  // MN-major operand, its multipliers.
  template <bool kOfA>
  WGRAD_DEVICE bool look_at_scales(const StageOperand& s) const {
    using S = Side<kConfig, kOfA>;
    bool suspect = false;
    for_each_row<kOfA>([&](u32 row) {
      if constexpr (is_mn_major(S::kRaw))
        ColumnConverter<kConfig, kOfA>::write_multipliers(s, multipliers(), row);
      if (i32(row) >= s.rows) return;
      const u32 codes = scale_codes(s, row);
#pragma unroll
      for (u32 i = 0; i < u32(stage_columns(kConfig)); ++i) {
        if (s.tokens > i32(i * S::kVec) && !S::Codes::is_direct(codes >> (8 * i) & 0xff))
          suspect = true;
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
      for (u32 token = 0; i32(token) < min_of(s.tokens, kConfig.tile_k); ++token)
        any = any || Side<kConfig, kOfA>::needs_renderings(s, row, token);
    });
    return any;
  }

  WGRAD_DEVICE u32 multipliers() const {
    return cta.smem + smem_layout(kConfig).multipliers + table * multiplier_bytes(kConfig);
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
        for (u32 block = 0; block < stage_blocks(kConfig); ++block)
          RowConverter<kConfig, kOfA>::write_each(s, row, block, bits);
      });
    }
  }

  WGRAD_DEVICE void hand_over(StageCursor<kConfig>& to, bool last) const {
    if (thread == 0) arch::store_shared_u32(pipeline.is_last(to.slot), last ? 1 : 0);
    arch::fence_async_shared();
    pipeline.arrive_together(pipeline.full(to.slot));
    to.advance();
  }

  WGRAD_DEVICE void convert_stage(const Work& w, i32 block, u32 raw, StageCursor<kConfig>& to) {
    StageOperand a = operand<true>(w, block, raw, to.slot);
    StageOperand b = operand<false>(w, block, raw, to.slot);
    const bool suspect = look_at_scales<true>(a) | look_at_scales<false>(b);
    bool renders = false;
    if constexpr (kConfig.scale == ScaleType::kE8m0) {
      if (arch::named_any(kMeeting, kThreads, suspect)) {
        const bool any = look_at_elements<true>(a) || look_at_elements<false>(b);
        renders = arch::named_any(kMeeting, kThreads, any);
      }
    }
    if (!renders) {
      pipeline.wait_empty(to);
      convert<true>(a);
      convert<false>(b);
      hand_over(to, true);
    } else {
#pragma unroll 1
      for (u32 i = 0; i < kRenderings; ++i) {
        a.tile = pipeline.a(to.slot);
        b.tile = pipeline.b(to.slot);
        pipeline.wait_empty(to);
        render<true>(a, rendering_of_a(i));
        render<false>(b, rendering_of_b(i));
        hand_over(to, i + 1 == kRenderings);
      }
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
