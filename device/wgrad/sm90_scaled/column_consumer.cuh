// A math warpgroup that decodes an MN-major A itself. Transposed matrices of pairs of bytes give a
// lane two neighbouring rows of two tokens a word: one permutation makes them the pairs of two
// rows, so that a warp's rows lie in its accumulators in pairs (pairs_rows()). Codes are read two
// steps of 16 tokens before they are multiplied and decoded one step before.
#pragma once

#include "wgrad/sm90_scaled/consumer.cuh"
#include "wgrad/sm90_scaled/scale_range.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
struct ColumnConsumer {
  static constexpr u32 kBands = Accumulators<kConfig>::kBands;
  static constexpr u32 kRows = 2 * kBands;  // of a thread
  static constexpr u32 kStepsOfStage = kSteps<kConfig>;
  static constexpr u32 kStepsOfBlock = kBlockTokens / kWindowTokens;
  static_assert(kBands == 2 && kStepsOfStage == 4,
                "a step is four matrices; a stage is two blocks");
  using S = Side<kConfig, true>;
  using Codes = typename S::Codes;
  using Near = NearA<kConfig>;
  using B = WgmmaTile<TileB<kConfig>, bits_of(kConfig.input)>;

  // Of a step: of each band tokens 0 to 7, then 8 to 15.
  using Words = arch::Chunk;
  struct Fragments {
    u32 a[kBands][4];
  };
  // Of a thread's rows, 16 bits for each block of a stage.
  struct Multipliers {
    u32 of[kRows];
  };
  // The codes that they are made from, of a raw stage.
  struct Scales {
    u32 of[kRows];
  };

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;
  Epilogue<kConfig> epilogue;
  WorkQueue<kConfig> queue;
  u32 row = 0;  // the warp's first in the tile
  RawCursor<kConfig> raw{};
  RangeOfStage range{};  // of the raw stage at hand
  StageCursor<kConfig> at{};
  i32 previous = -1;  // the decoded stage that is being multiplied
  i32 left = 0;       // the expert's tokens from the raw stage at hand on
  u32 stage = 0;      // the decoded stage at hand among the raw one's

  WGRAD_DEVICE u32 row_of(u32 i) const {
    return row + i / 2 * u32{kWarpgroupRows} + Fragment::row<true>(arch::lane_index(), i % 2 * 2);
  }

  // In a form that lets the compiler see that the warp stays together.
  WGRAD_DEVICE bool is_in(ScaleRange wanted) const {
    return arch::warp_uniform(u32(range.range)) == u32(wanted);
  }

  // The raw stage at hand, of which nothing is decoded yet.
  WGRAD_DEVICE void enter() { range = wait_range(pipeline, raw); }
  // To the next decoded stage, if there is one. What was the raw stage's last releases it.
  WGRAD_DEVICE bool advance() {
    if (++stage < stages_of<kConfig>(left, false)) return true;
    pipeline.arrive_together(pipeline.raw_empty(raw.slot));
    left -= raw_tokens(kConfig);
    stage = 0;
    raw.advance();
    if (left <= 0) return false;
    enter();
    if constexpr (reduces_output(kConfig)) {
      if (left <= raw_tokens(kConfig)) epilogue.prefetch_first(queue.read_again());
    }
    return true;
  }

  WGRAD_DEVICE void load(Words& w, u32 step) const {
    constexpr u32 kBoxBytes = u32(kSwizzleBytes * raw_tokens(kConfig));
    const u32 lane = arch::lane_index(), matrix = lane / 8;
    const u32 box = pipeline.raw_a(raw.slot) + row / u32{kSwizzleBytes} * kBoxBytes;
    const u32 chunk = row % u32{kSwizzleBytes} / 16 + matrix / 2 * (u32{kWarpgroupRows} / 16);
    const u32 token = stage * u32(kConfig.tile_k) + step * u32{kWindowTokens};
    w = arch::load_matrices_transposed(swizzled(box, matrix % 2 * 8 + lane % 8, chunk) +
                                       token * u32{kSwizzleBytes});
  }
  WGRAD_DEVICE void load(Scales& codes) const {
    if (stage != 0) return;
    const u32 scales = pipeline.scales_a(raw.slot);
#pragma unroll
    for (u32 i = 0; i < kRows; ++i)
      codes.of[i] = arch::load_shared_u32(scales + scale_offset<S::kAtoms>(row_of(i)));
  }
  template <ScaleRange kRange>
  WGRAD_DEVICE void make(Multipliers& m, const Scales& scales) const {
#pragma unroll
    for (u32 i = 0; i < kRows; ++i) {
      const u32 codes = arch::permute_bytes<0x4140>(scales.of[i] >> (16 * stage), 0);
      if constexpr (kRange == ScaleRange::kNear) {
        m.of[i] = Near::multipliers(codes, range.least_a);
      } else {  // what follows the expert's last block may be NaN
        const bool any = left > i32(stage) * kConfig.tile_k + kBlockTokens;
        const u32 second = any ? Codes::multiplier_or_zero(codes >> 16) : 0;
        m.of[i] = arch::permute_bytes<0x5410>(Codes::multiplier_or_zero(codes & 0xffff), second);
      }
    }
  }

  // A word's two rows: pairs of tokens.
  template <ScaleRange kRange>
  WGRAD_DEVICE static void decode(u32 word, u32 by_first, u32 by_second, u32& first, u32& second) {
    const u32 codes = arch::permute_bytes<0x3120>(word, word);
    if constexpr (kRange == ScaleRange::kNear) {
      first = Near::low_pair(codes, by_first);
      second = Near::high_pair(codes, by_second);
    } else {
      first = Codes::low_pair(codes, by_first) | Codes::special_low(codes);
      second = Codes::high_pair(codes, by_second) | Codes::special_high(codes);
    }
  }
  template <ScaleRange kRange>
  WGRAD_DEVICE static void decode(Fragments& f, const Words& w, const Multipliers& m, u32 step) {
#pragma unroll
    for (u32 band = 0; band < kBands; ++band) {
      const auto by = [&](u32 i) {
        const u32 both = m.of[2 * band + i];
        return step < kStepsOfBlock ? arch::permute_bytes<0x1010>(both, both)
                                    : arch::permute_bytes<0x3232>(both, both);
      };
      const u32 first = by(0), second = by(1);
#pragma unroll
      for (u32 half = 0; half < 2; ++half) {
        decode<kRange>(w.word[2 * band + half], first, second, f.a[band][2 * half],
                       f.a[band][2 * half + 1]);
      }
    }
  }

  WGRAD_DEVICE void release_previous() {
    if (previous >= 0) pipeline.arrive_together(pipeline.empty(u32(previous)));
    previous = -1;
  }

  // One step of a decoded stage; afterwards kInFlight steps may still be multiplied.
  template <InputType kInput, u32 kInFlight>
  WGRAD_DEVICE void multiply_step(Accumulators<kConfig>& d, Fragments& f, u32 step,
                                  u32 keep) const {
    const u64 b = B::descriptor(pipeline.b(at.slot)) + B::step(step);
    if constexpr (kInput == InputType::kBf16) {
#pragma unroll
      for (u32 band = 0; band < kBands; ++band) arch::wgmma_pin(f.a[band]);
    }
    arch::wgmma_fence();
#pragma unroll
    for (u32 band = 0; band < kBands; ++band)
      arch::wgmma_k16<kInput, 1>(d.band[band], f.a[band], b, keep);
    arch::wgmma_commit();
    arch::wgmma_wait<kInFlight>();
  }

  // A decoded stage, whose first step is in f[0], codes of its second in words[1]; afterwards those
  // of the stage after it are, if there is one of the same range. What that one's range is matters
  // a step after its codes are read: nothing waits for it.
  template <ScaleRange kRange>
  WGRAD_DEVICE bool multiply_stage(Accumulators<kConfig>& d, Fragments (&f)[2], Words (&words)[2],
                                   Scales& scales, Multipliers& m, u32& keep) {
    constexpr InputType kInput = kRange == ScaleRange::kNear ? InputType::kFp16 : InputType::kBf16;
    pipeline.wait_full(at);
#pragma unroll
    for (u32 step = 0; step < 2; ++step) {
      multiply_step<kInput, 1>(d, f[step], step, step == 0 ? keep : 1);
      keep = 1;
      if (step == 0) release_previous();
      load(words[step], step + 2);
      decode<kRange>(f[1 - step], words[1 - step], m, step + 1);
    }
    multiply_step<kInput, 1>(d, f[0], 2, 1);
    decode<kRange>(f[1], words[1], m, 3);
    const bool more = advance();
    if (more) {
      load(words[0], 0);
      load(scales);
    }
    multiply_step<kInput, 1>(d, f[1], 3, 1);
    previous = i32(at.slot);
    at.advance();
    if (!more || !is_in(kRange)) return false;
    load(words[1], 1);
    make<kRange>(m, scales);
    decode<kRange>(f[0], words[0], m, 0);
    return true;
  }

  // Stages of one range, as far as they follow each other.
  template <ScaleRange kRange>
  WGRAD_DEVICE void multiply_stages(Accumulators<kConfig>& d, u32& keep) {
    Fragments f[2];
    Words words[2];  // NOLINT(cppcoreguidelines-pro-type-member-init): read before any use
    Scales scales{};
    Multipliers m{};
    load(words[0], 0);
    load(words[1], 1);
    load(scales);
    make<kRange>(m, scales);
    decode<kRange>(f[0], words[0], m, 0);
    while (multiply_stage<kRange>(d, f, words, scales, m, keep)) {
    }
    arch::wgmma_wait<0>();
    d.pin();
    release_previous();
  }

  // One rendering of a stage, element by element. Values are picked instead of indexed: few
  // registers.
  WGRAD_DEVICE void multiply_rendering(Accumulators<kConfig>& d, const StageOperand& s,
                                       const Rendering& r, u32& keep) {
    const auto bits = [&](u32 code, u32 scale) { return rendered(S::kElement, code, scale, r); };
    pipeline.wait_full(at);
#pragma unroll 1
    for (u32 step = 0; step < kStepsOfStage; ++step) {
      Fragments f{};
#pragma unroll 1
      for (u32 i = 0; i < 2 * kRows; ++i) {
        const u32 of_row = row_of(i / 4 * 2 + i % 2);
        const u32 token = step * u32{kWindowTokens} + i / 2 % 2 * 8 + arch::lane_index() % 4 * 2;
        const u32 pair = S::element(s, of_row, token, bits) | S::element(s, of_row, token + 1, bits)
                                                                  << 16;
#pragma unroll
        for (u32 j = 0; j < 2 * kRows; ++j) {
          if (j == i) f.a[j / 4][j % 4] = pair;
        }
      }
      multiply_step<InputType::kBf16, 0>(d, f, step, keep);
      keep = 1;
    }
    pipeline.arrive_together(pipeline.empty(at.slot));
    at.advance();
  }
  WGRAD_DEVICE void multiply_renderings(Accumulators<kConfig>& d, u32& keep) {
    const Work w = queue.read_again();
    const StageOperand s = decoded_stage<kConfig>(
        stage_operand<kConfig, true>(cta, pipeline, w, w.tokens.end - left, raw.slot), stage);
#pragma unroll 1
    for (u32 i = 0; i < kRenderings; ++i) multiply_rendering(d, s, rendering_of_a(i), keep);
    d.pin();
    advance();
  }

  // A tile of an expert that has tokens.
  WGRAD_DEVICE void multiply(Accumulators<kConfig>& d, const Work& w) {
    u32 keep = 0;
    left = i32(arch::warp_uniform(u32(w.tokens.end - w.tokens.begin)));
    stage = 0;
    enter();
    if (is_in(ScaleRange::kNear)) {
      const u32 least_a = range.least_a, least_b = range.least_b;
      multiply_stages<ScaleRange::kNear>(d, keep);
      apply_factors(d, {Near::taken_back(least_a), NearB<kConfig>::taken_back(least_b)});
    }
    while (left > 0) {
      if (is_in(ScaleRange::kDirect)) {
        multiply_stages<ScaleRange::kDirect>(d, keep);
      } else {
        multiply_renderings(d, keep);
      }
    }
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
      if (w.blocks > 0) multiply(d, w);
      const Work done = queue.read_again();
      queue.let_go_together();
      epilogue.write_out(d, done);
    }
    epilogue.finish();
  }
};

}  // namespace wgrad::device
