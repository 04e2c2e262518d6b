// Where A is decoded in registers and scale factors are powers of two: how a raw stage is decoded,
// found by one warp before anyone decodes it. Of an operand's blocks that are not all zero, are the
// scale factors near each other (decode_near.cuh), or else in BF16's range (decode.cuh)? A tile
// whose stages were near each other so far keeps its windows; once one is not, the rest is BF16.
#pragma once

#include "wgrad/sm90_scaled/decode_near.cuh"
#include "wgrad/sm90_scaled/units.cuh"

namespace wgrad::device {

enum class ScaleRange : u32 {
  kNear,      // FP16
  kDirect,    // BF16
  kRendered,  // BF16, several renderings (shared/element.hpp)
};
struct RangeOfStage {
  ScaleRange range;
  u32 least_a;  // of the windows; kNear
  u32 least_b;
};

template <KernelConfig auto kConfig>
using NearA = NearDecoder<kConfig.element_a, kConfig.scale>;
template <KernelConfig auto kConfig>
using NearB = NearDecoder<kConfig.element_b, kConfig.scale>;

// A reader: once this has returned, codes and scale factors may be read too.
template <KernelConfig auto kConfig>
WGRAD_DEVICE RangeOfStage wait_range(const ScaledPipeline<kConfig>& pipeline,
                                     const RawCursor<kConfig>& at) {
  RangeOfStage r{ScaleRange::kNear, 0, 0};
  if constexpr (checks_range(kConfig)) {
    arch::barrier_wait(pipeline.range_known(at.slot), at.parity);
    const arch::Chunk c = arch::load_shared(pipeline.range(at.slot));
    r = {ScaleRange(c.word[0]), c.word[1], c.word[2]};
  }
  pipeline.wait_raw_full(at);
  return r;
}

// The scale factors of one operand of a raw stage, a lane's part of them: every 32nd row.
template <KernelConfig auto kConfig, bool kOfA>
struct ScaleScan {
  using S = Side<kConfig, kOfA>;
  using Reader = UnitReader<kConfig, kOfA>;
  static constexpr u32 kBlockUnits = S::kVec / u32{kUnitTokens};

  const Cta<kConfig>& cta;
  const ScaledPipeline<kConfig>& pipeline;
  const Work& work;
  i32 token;  // the raw stage's first
  u32 raw;
  StageOperand s;

  WGRAD_DEVICE ScaleScan(const Cta<kConfig>& c, const ScaledPipeline<kConfig>& p, const Work& w,
                         i32 first, u32 stage, bool is_shifted)
      : cta(c),
        pipeline(p),
        work(w),
        token(first),
        raw(stage),
        s(scales_of_stage<kConfig, kOfA>(c, p, w, first, stage, is_shifted)) {}

  // `act(word, row, column)` for each word of four columns, of which `column` is the first.
  template <typename Act>
  WGRAD_DEVICE void for_each_word(const Act& act) const {
    const u32 lane = arch::lane_index();
#pragma unroll 1
    for (u32 block = 0; block < S::kRows / u32{kScaleAtomRows}; ++block) {
      if (i32(block * u32{kScaleAtomRows}) >= s.rows) break;
#pragma unroll 1
      for (u32 atom = 0; atom < S::kAtoms; ++atom) {
        if (atom * u32{kScaleAtomColumns} >= end_column()) break;
        const arch::Chunk c =
            arch::load_shared(s.scales + (block * S::kAtoms + atom) * kScaleAtomBytes + lane * 16);
#pragma unroll
        for (u32 j = 0; j < 4; ++j)
          act(c.word[j], block * u32{kScaleAtomRows} + j * 32 + lane, atom * kScaleAtomColumns);
      }
    }
  }

  // Columns that belong to the stage's tokens.
  WGRAD_DEVICE u32 end_column() const {
    const u32 tokens = u32(min_of(s.tokens, used_raw_tokens(kConfig, s.is_shifted)));
    return s.column + ceil_div(tokens, S::kVec);
  }
  // Bytes of a word that begins at `column` which do.
  WGRAD_DEVICE u32 bytes_of_stage(u32 column) const {
    const i32 first = max_of(i32(s.column) - i32(column), 0);
    const i32 count = min_of(max_of(i32(end_column()) - i32(column), 0), 4);
    const u32 below_end = count == 4 ? ~0u : (1u << (8 * count)) - 1;
    return below_end & ~((1u << (8 * first)) - 1);
  }

  // The largest code but NaN.
  WGRAD_DEVICE u32 largest() const {
    u32 most = 0;
    for_each_word([&](u32 word, u32 row, u32 column) {
      word &= i32(row) < s.rows ? bytes_of_stage(column) : 0;
#pragma unroll
      for (u32 i = 0; i < 4; ++i) {
        const u32 code = word >> (8 * i) & 0xff;
        if (code != kE8m0Nan) most = max_of(most, code);
      }
    });
    return most;
  }

  // `between` loses a carry for each code of a word outside [least, most].
  static constexpr u32 kLanes = 0x00010001, kCarries = kLanes << 8;
  WGRAD_DEVICE static void compare(u32& between, u32 word, u32 least, u32 most) {
    const u32 from = least * kLanes, to = (most + 0x200) * kLanes;
    const u32 even = (word & 0x00ff00ffu) | kCarries;
    const u32 odd = (word >> 8 & 0x00ff00ffu) | kCarries;
    between &= (even - from) & (to - even);
    between &= (odd - from) & (to - odd);
  }

  // All codes lie in [least, most].
  WGRAD_DEVICE bool all_between(u32 least, u32 most) const {
    u32 between = kCarries;
    const bool whole = s.rows >= i32{S::kRows} && s.tokens >= raw_tokens(kConfig) && !s.is_shifted;
    if (whole) {
      constexpr u32 kAll = S::kRows / u32{kScaleAtomRows} * S::kAtoms;
#pragma unroll
      for (u32 atom = 0; atom < kAll; ++atom) {
        const arch::Chunk c =
            arch::load_shared(s.scales + atom * kScaleAtomBytes + arch::lane_index() * 16);
#pragma unroll
        for (u32 j = 0; j < 4; ++j) compare(between, c.word[j], least, most);
      }
    } else {
      for_each_word([&](u32 word, u32 row, u32 column) {
        const u32 kept = i32(row) < s.rows ? bytes_of_stage(column) : 0;
        compare(between, (word & kept) | (least * 0x01010101u & ~kept), least, most);
      });
    }
    return between == kCarries;
  }

  WGRAD_DEVICE bool is_zero(u32 row, u32 column) const {
    const StageOperand codes =
        stage_operand<kConfig, kOfA>(cta, pipeline, work, token, raw, s.is_shifted);
    u32 any = 0;
#pragma unroll 1
    for (u32 i = 0; i < kBlockUnits; ++i) {
      u32 words[Reader::kWords];
      Reader::read(codes, row, (column - s.column) * kBlockUnits + i, words);
#pragma unroll
      for (u32 j = 0; j < Reader::kWords; ++j) any |= words[j];
    }
    return (any & (S::Codes::kPacked ? 0x77777777u : 0x7f7f7f7fu)) == 0;
  }

  // All blocks that are not zero have codes in [least, most]; NaN counts as `nan_fits` says.
  WGRAD_DEVICE bool all_fit(u32 least, u32 most, bool nan_fits) const {
    if (all_between(least, most)) return true;
    bool fit = true;
    const u32 end = end_column();
#pragma unroll 1
    for (u32 row = arch::lane_index(); row < min_of(S::kRows, u32(s.rows)); row += 32) {
#pragma unroll 1
      for (u32 column = s.column; column < end; ++column) {
        const u32 code =
            arch::load_shared_u8(Reader::scale_at(s, row, (column - s.column) * kBlockUnits));
        if (code - least <= most - least) continue;
        fit = fit && (code == kE8m0Nan ? nan_fits : is_zero(row, column));
      }
    }
    return fit;
  }
};

// The warp that looks.
template <KernelConfig auto kConfig>
struct RangeChecker {
  static constexpr u32 kMeeting = 2;  // named barrier of its lanes
  static constexpr Place kLargest = place_of(kConfig, "largest");
  using ScanA = ScaleScan<kConfig, true>;
  using ScanB = ScaleScan<kConfig, false>;

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;

  WGRAD_DEVICE static bool all(bool value) { return !arch::named_any(kMeeting, 32, !value); }

  // Of all lanes.
  WGRAD_DEVICE u32 largest_of_all(u32 own) const {
    const u32 at = cta.smem + kLargest.at;
    arch::store_shared_u32(at + 4 * arch::lane_index(), own);
    arch::warp_sync();
    u32 most = 0;
#pragma unroll
    for (u32 i = 0; i < 8; ++i) {
      const arch::Chunk c = arch::load_shared(at + 16 * i);
#pragma unroll
      for (u32 j = 0; j < 4; ++j) most = max_of(most, c.word[j]);
    }
    arch::warp_sync();
    return most;
  }

  template <typename Near, typename Scan>
  WGRAD_DEVICE static bool is_near(const Scan& scan, u32 least) {
    return scan.all_fit(least, least + Near::kWindow.count - 1, false);
  }
  template <typename Scan>
  WGRAD_DEVICE static bool is_direct(const Scan& scan) {
    using Codes = typename Scan::S::Codes;
    return scan.all_fit(Codes::kFirstScale, Codes::kLastScale, true);
  }

  // `r`: of the stage before, or the tile's first. `a` and `b` give the scans.
  template <typename A, typename B>
  WGRAD_DEVICE void look(RangeOfStage& r, const A& a, const B& b, bool first) const {
    if (first) {
      r = {ScaleRange::kNear, NearA<kConfig>::least_for(largest_of_all(a().largest())),
           NearB<kConfig>::least_for(largest_of_all(b().largest()))};
    }
    if (r.range == ScaleRange::kNear) {
      const bool near =
          is_near<NearA<kConfig>>(a(), r.least_a) && is_near<NearB<kConfig>>(b(), r.least_b);
      if (all(near)) return;
    }
    r.range = all(is_direct(a()) && is_direct(b())) ? ScaleRange::kDirect : ScaleRange::kRendered;
  }

  WGRAD_DEVICE void publish(u32 stage, const RangeOfStage& r) const {
    if (arch::lane_index() == 0)
      arch::store_shared(pipeline.range(stage), {{u32(r.range), r.least_a, r.least_b, 0}});
    pipeline.arrive_together(pipeline.range_known(stage));
  }

  WGRAD_DEVICE void run() {
    RawCursor<kConfig> at;
    for (WorkQueue<kConfig> queue{cta.smem};; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      queue.let_go_together();
      RangeOfStage r{};
      const bool shifted = are_shifted(cta, w.tokens);
      for (i32 block = 0; block < raw_blocks(kConfig, w.blocks, shifted); ++block, at.advance()) {
        const i32 token = w.tokens.begin + block * used_raw_tokens(kConfig, shifted);
        pipeline.wait_raw_full(at);
        look(
            r, [&] { return ScanA(cta, pipeline, w, token, at.slot, shifted); },
            [&] { return ScanB(cta, pipeline, w, token, at.slot, shifted); }, block == 0);
        publish(at.slot, r);
      }
    }
  }
};

}  // namespace wgrad::device
