// The converters where A is decoded in registers and both operands are MN-major: a warpgroup
// decodes columns of B, which stay MN-major. A warp has 64 columns of 32 tokens of a stage, a
// thread 16 columns of four of them (convert_columns.cuh).
#pragma once

#include "wgrad/sm90_scaled/scale_range.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
struct StagedColumns {
  using Columns = ColumnConverter<kConfig, false>;
  using S = typename Columns::S;
  using Near = NearB<kConfig>;
  static constexpr u32 kTurns = kBlockTokens / 8;
  static_assert(Columns::kTasks == u32(converter_warps(kConfig)), "a task for each warp");

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;
  StageCursor<kConfig> to{};

  WGRAD_DEVICE void hand_over() {
    arch::fence_async_shared();
    pipeline.arrive_together(pipeline.full(to.slot));
    to.advance();
  }

  // Eight columns of a token.
  WGRAD_DEVICE static arch::Chunk decoded(u32 first, u32 second, const arch::Chunk& by) {
    return {{Near::low_pair(first, by.word[0]), Near::high_pair(first, by.word[1]),
             Near::low_pair(second, by.word[2]), Near::high_pair(second, by.word[3])}};
  }

  // The multipliers of decoded stage `stage` of a raw one.
  WGRAD_DEVICE u32 table(u32 raw, u32 stage) const {
    return Columns::multiplier_at(pipeline.multipliers(raw), 0, stage * stage_blocks(kConfig));
  }

  // A thread's codes of a stage and what their columns are multiplied by.
  struct Codes {
    arch::Chunk of[kTurns];
    arch::Chunk low;
    arch::Chunk high;
  };
  WGRAD_DEVICE void load(Codes& c, u32 raw, u32 stage, u32 task) const {
    constexpr u32 kBlocks = stage_blocks(kConfig);
    const u32 row = first_row(task), token = stage * u32(kConfig.tile_k) + first_token(task);
    const u32 codes = swizzled(pipeline.raw_b(raw), token, row / 16);
    const u32 at = Columns::multiplier_at(table(raw, stage), row, task % kBlocks);
#pragma unroll
    for (u32 i = 0; i < kTurns; ++i) c.of[i] = arch::load_shared(codes + i * kAtomBytes);
    c.low = arch::load_shared(at);
    c.high = arch::load_shared(at + 16);
  }
  WGRAD_DEVICE void write(const Codes& c, u32 task) const {
    const u32 row = first_row(task), token = first_token(task);
    const u32 box = pipeline.b(to.slot) + row / 64 * u32(kConfig.tile_k * kSwizzleBytes);
    const u32 first = swizzled(box, token, row % 64 / 8);
    const u32 second = swizzled(box, token, row % 64 / 8 + 1);
#pragma unroll
    for (u32 i = 0; i < kTurns; ++i) {
      arch::store_shared(first + i * kAtomBytes, decoded(c.of[i].word[0], c.of[i].word[1], c.low));
      arch::store_shared(second + i * kAtomBytes,
                         decoded(c.of[i].word[2], c.of[i].word[3], c.high));
    }
  }
  // Of a lane in a task.
  WGRAD_DEVICE static u32 first_row(u32 task) {
    return task / stage_blocks(kConfig) * 64 + arch::lane_index() % 4 * 16;
  }
  WGRAD_DEVICE static u32 first_token(u32 task) {
    const u32 j = arch::lane_index() / 4;
    return task % stage_blocks(kConfig) * u32{kBlockTokens} + ((j & 1 ? 5 : 0) ^ (j & 2) ^ (j & 4));
  }

  // A raw stage. Codes of the decoded stage after are read before this one is handed over.
  WGRAD_DEVICE void convert_near(u32 raw, u32 stages, u32 task) {
    Codes c;  // NOLINT(cppcoreguidelines-pro-type-member-init): read before any use
    load(c, raw, 0, task);
#pragma unroll 1
    for (u32 stage = 1;; ++stage) {
      pipeline.wait_empty(to);
      write(c, task);
      if (stage < stages) load(c, raw, stage, task);
      hand_over();
      if (stage >= stages) break;
    }
  }

  WGRAD_DEVICE void convert_direct(StageOperand s, u32 of_stage, u32 task) {
    pipeline.wait_empty(to);
    s.tile = pipeline.b(to.slot);
    Columns::convert(s, of_stage, task);
    hand_over();
  }

  WGRAD_DEVICE void convert_renderings(StageOperand s, u32 task) {
#pragma unroll 1
    for (u32 index = 0; index < kRenderings; ++index) {
      const Rendering r = rendering_of_b(index);
      pipeline.wait_empty(to);
      s.tile = pipeline.b(to.slot);
      Columns::for_each_token(task, [&](u32 row, u32 token) {
        Columns::write_each(s, row, token, [&](u32 code, u32 scale) {
          return rendered(S::kElement, code, scale, r);
        });
      });
      hand_over();
    }
  }

  WGRAD_DEVICE void convert_other(const StageOperand& s, u32 raw, u32 stages, ScaleRange range,
                                  u32 task) {
#pragma unroll 1
    for (u32 stage = 0; stage < stages; ++stage) {
      if (range == ScaleRange::kDirect) {
        convert_direct(decoded_stage<kConfig>(s, stage), table(raw, stage), task);
      } else {
        convert_renderings(decoded_stage<kConfig>(s, stage), task);
      }
    }
  }

  // A whole warp.
  WGRAD_DEVICE void run(u32 task) {
    RawCursor<kConfig> from;
    for (WorkQueue<kConfig> queue{cta.smem};; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      queue.let_go_together();
      for (i32 block = 0; block < raw_blocks(kConfig, w.blocks, false); ++block, from.advance()) {
        const i32 token = w.tokens.begin + block * raw_tokens(kConfig);
        const u32 stages = stages_of<kConfig>(w.tokens.end - token, false);
        const ScaleRange range = wait_range(pipeline, from).range;
        if (range == ScaleRange::kNear) {
          convert_near(from.slot, stages, task);
        } else {
          convert_other(stage_operand<kConfig, false>(cta, pipeline, w, token, from.slot),
                        from.slot, stages, range, task);
        }
        pipeline.arrive_together(pipeline.raw_empty(from.slot));
      }
    }
  }
};

}  // namespace wgrad::device
