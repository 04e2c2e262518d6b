// Where A is decoded in registers and scale factors are powers of two: how a raw stage is decoded,
// found by one warp before anyone decodes it. Of an operand's blocks that are not all zero, are the
// scale factors near each other (decode_near.cuh), or else in BF16's range (decode.cuh)? A tile
// whose stages were near each other so far keeps its windows; once one is not, the rest is BF16.
#pragma once

#include "wgrad/sm90_scaled/convert_columns.cuh"
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
  if constexpr (checks_range(kConfig)) {
    arch::barrier_wait(pipeline.range_known(at.slot), at.parity);
    pipeline.wait_raw_full(at);
    const arch::Chunk c = arch::load_shared(pipeline.range(at.slot));
    return {ScaleRange(c.word[0]), c.word[1], c.word[2]};
  }
  pipeline.wait_raw_full(at);
  return {ScaleRange::kNear, 0, 0};
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

  // The least and the most of codes, those of a word's even and odd bytes apart.
  struct Extremes {
    u32 least = 0x00ff00ffu;
    u32 most = 0;

    WGRAD_DEVICE void add(u32 word) {
      const u32 even = arch::permute_bytes<0x4240>(word, 0);
      const u32 odd = arch::permute_bytes<0x4341>(word, 0);
      least = arch::min_u16_pairs(least, arch::min_u16_pairs(even, odd));
      most = arch::max_u16_pairs(most, arch::max_u16_pairs(even, odd));
    }
    WGRAD_DEVICE bool lie_in(u32 from, u32 to) const {
      return min_of(least & 0xffff, least >> 16) >= from && max_of(most & 0xffff, most >> 16) <= to;
    }
  };

  // All codes lie in [least, most].
  WGRAD_DEVICE bool all_between(u32 least, u32 most) const {
    Extremes found;
    const bool whole = s.rows >= i32{S::kRows} && s.tokens >= raw_tokens(kConfig) && !s.is_shifted;
    if (whole) {
      constexpr u32 kAll = S::kRows / u32{kScaleAtomRows} * S::kAtoms;
#pragma unroll
      for (u32 atom = 0; atom < kAll; ++atom) {
        const arch::Chunk c =
            arch::load_shared(s.scales + atom * kScaleAtomBytes + arch::lane_index() * 16);
#pragma unroll
        for (u32 j = 0; j < 4; ++j) found.add(c.word[j]);
      }
    } else {
      for_each_word([&](u32 word, u32 row, u32 column) {
        const u32 kept = i32(row) < s.rows ? bytes_of_stage(column) : 0;
        found.add((word & kept) | (least * 0x01010101u & ~kept));
      });
    }
    return found.lie_in(least, most);
  }

  WGRAD_DEVICE bool is_zero(u32 row, u32 column) const {
    const StageOperand codes =
        stage_operand<kConfig, kOfA>(cta, pipeline, work, token, raw, s.is_shifted);
    u32 any = 0;
    if constexpr (decodes_columns(kConfig)) {  // zeros follow the expert's last token
#pragma unroll 1
      for (u32 i = 0; i < S::kVec; ++i)
        any |= S::code(codes, row, (column - s.column) * S::kVec + i);
    } else {
#pragma unroll 1
      for (u32 i = 0; i < kBlockUnits; ++i) {
        u32 words[Reader::kWords];
        Reader::read(codes, row, (column - s.column) * kBlockUnits + i, words);
#pragma unroll
        for (u32 j = 0; j < Reader::kWords; ++j) any |= words[j];
      }
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

template <KernelConfig auto kConfig>
struct ScalesAhead;

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

  // Where not all of a stage lie in the windows: of blocks that are not zero.
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

  // Every stage of a tile whose scale factors lie in shared memory.
  WGRAD_DEVICE void look_at_tile(RawCursor<kConfig>& at, const Work& w) const {
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

  WGRAD_DEVICE void run() {
    RawCursor<kConfig> at;
    for (WorkQueue<kConfig> queue{cta.smem};; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      const u32 first_column = arch::load_shared_u32(queue.extra_entry());
      queue.let_go_together();
      if constexpr (reads_scales_ahead(kConfig)) {
        if (w.blocks > 0) ScalesAhead<kConfig>(*this, w, first_column).look_at_tile(at);
      } else {
        look_at_tile(at, w);
      }
    }
  }
};

// The same where the warp reads the scale factors of a tile from device memory: those of the next
// stage are on their way while it waits for a raw stage to put these into. A lane has four rows of
// each 128, 32 apart, and of each row the four columns of an atom: 16 bytes that no other lane
// touches.
template <KernelConfig auto kConfig>
struct ScalesAhead {
  static constexpr u32 kBlocksA = u32(kConfig.tile_m) / kScaleAtomRows;
  static constexpr u32 kBlocksB = u32(kConfig.tile_n) / kScaleAtomRows;
  static constexpr Place kAhead = place_of(kConfig, "scales ahead");
  static_assert(raw_columns(kConfig) == kScaleAtomColumns, "an atom of each 128 rows");
  using Checker = RangeChecker<kConfig>;
  using ScanA = ScaleScan<kConfig, true>;
  using ScanB = ScaleScan<kConfig, false>;

  const Checker& checker;
  const Work& work;
  u32 first_column;  // the expert's first, of `columns`
  u32 columns;
  bool shifted;

  WGRAD_DEVICE ScalesAhead(const Checker& c, const Work& w, u32 first)
      : checker(c),
        work(w),
        first_column(first),
        columns(columns_of<kConfig>(w.tokens)),
        shifted(are_shifted(c.cta, w.tokens)) {}

  WGRAD_DEVICE const ScaledParams& params() const { return scaled_params(checker.cta); }
  WGRAD_DEVICE i32 first_token(i32 stage) const {
    return stage * used_raw_tokens(kConfig, shifted);
  }
  // Where this lane's part of 128 rows lies until it is looked at.
  WGRAD_DEVICE u32 ahead(i32 stage, u32 block) const {
    return checker.cta.smem + kAhead.at + u32(stage % 2) * kAhead.bytes +
           block * u32{kScaleAtomBytes} + arch::lane_index() * 16;
  }

  // Compact: columns [column, column + 4) of a row; zeros where there are none.
  WGRAD_DEVICE u32 compact_word(u64 scales, i64 pitch, i32 row, i32 extent, u32 column) const {
    if (row >= extent) return 0;
    const u64 from = scales + u64(row) * u64(pitch) + first_column + column;
    const u32 count = min_of(columns - column, u32{kScaleAtomColumns});
    if (from % 4 == 0 && count == u32{kScaleAtomColumns}) return u32(arch::load_global_i32(from));
    u32 word = 0;
#pragma unroll 1
    for (u32 i = 0; i < count; ++i) word |= arch::load_global_u8(from + i) << (8 * i);
    return word;
  }
  // Columns [column, column + 4) of an operand's rows from `row` on, kBlocks times 128 of them.
  template <u32 kBlocks>
  WGRAD_DEVICE void fetch(u32 to, u64 scales, i64 pitch, i32 row, i32 extent, u32 column) const {
    if constexpr (kConfig.storage == ScaleStorage::kAtoms) {
      const ScaleAtoms atoms(scales, row, extent, kBlocks * kScaleAtomRows, first_column, columns);
      const u64 from =
          atoms.first + u64{column} * u32{kScaleAtomRows} + u64{arch::lane_index()} * 16;
#pragma unroll
      for (u32 block = 0; block < kBlocks; ++block) {
        const bool any = block < atoms.blocks;
        arch::copy_async(to + block * u32{kScaleAtomBytes}, any ? from + block * atoms.pitch : from,
                         any ? 16 : 0);
      }
    } else {
#pragma unroll 1
      for (u32 block = 0; block < kBlocks; ++block) {
        arch::Chunk c{};
#pragma unroll
        for (u32 j = 0; j < 4; ++j) {
          const i32 of_row = row + i32(block * u32{kScaleAtomRows} + j * 32 + arch::lane_index());
          c.word[j] = compact_word(scales, pitch, of_row, extent, column);
        }
        arch::store_shared(to + block * u32{kScaleAtomBytes}, c);
      }
    }
  }
  WGRAD_DEVICE void fetch(i32 stage) const {
    const u32 column =
        u32(first_token(stage)) / u32(kConfig.vec_size) / kScaleAtomColumns * kScaleAtomColumns;
    const ScaledParams& p = params();
    fetch<kBlocksA>(ahead(stage, 0), p.sfa, p.sfa_cols, work.m0, p.m, column);
    fetch<kBlocksB>(ahead(stage, kBlocksA), p.sfb, p.sfb_cols, work.n0, p.n, column);
  }

  // `act(word)` for each word of kBlocks times 128 rows, `other` in place of what is no row's and
  // no column's of the stage.
  template <u32 kBlocks, typename Act>
  WGRAD_DEVICE static void for_each(u32 from, i32 rows, u32 bytes, u32 other, const Act& act) {
#pragma unroll
    for (u32 block = 0; block < kBlocks; ++block) {
      const arch::Chunk c = arch::load_shared(from + block * u32{kScaleAtomBytes});
#pragma unroll
      for (u32 j = 0; j < 4; ++j) {
        const bool inside = i32(block * u32{kScaleAtomRows} + j * 32 + arch::lane_index()) < rows;
        const u32 kept = inside ? bytes : 0;
        act((c.word[j] & kept) | (other & ~kept));
      }
    }
  }
  template <u32 kBlocks>
  WGRAD_DEVICE static u32 largest(u32 from, i32 rows, u32 bytes) {
    u32 most = 0;
    for_each<kBlocks>(from, rows, bytes, 0, [&](u32 word) {
#pragma unroll
      for (u32 i = 0; i < 4; ++i) {
        const u32 code = word >> (8 * i) & 0xff;
        if (code != kE8m0Nan) most = max_of(most, code);
      }
    });
    return most;
  }
  template <u32 kBlocks>
  WGRAD_DEVICE static bool lie_in(u32 from, i32 rows, u32 bytes, u32 least, u32 most) {
    typename ScanA::Extremes found;
    for_each<kBlocks>(from, rows, bytes, least * 0x01010101u, [&](u32 word) { found.add(word); });
    return found.lie_in(least, most);
  }

  // What converters multiply MN-major columns by.
  WGRAD_DEVICE void write_multipliers(const RangeOfStage& r, const RawCursor<kConfig>& at,
                                      i32 stage) const {
    using Columns = ColumnConverter<kConfig, false>;
    const u32 lane = arch::lane_index(), table = checker.pipeline.multipliers(at.slot);
    if (r.range == ScaleRange::kNear) {
      const arch::Chunk codes = arch::load_shared(ahead(stage, kBlocksA));
#pragma unroll
      for (u32 j = 0; j < 4; ++j)
        Columns::write_near_multipliers(codes.word[j], table, j * 32 + lane, r.least_b);
    } else {
      const StageOperand s = scan<false>(at, stage).s;
#pragma unroll 1
      for (u32 j = 0; j < 4; ++j) Columns::write_multipliers(s, table, j * 32 + lane);
    }
  }

  template <bool kOfA>
  WGRAD_DEVICE ScaleScan<kConfig, kOfA> scan(const RawCursor<kConfig>& at, i32 stage) const {
    const i32 token = work.tokens.begin + first_token(stage);
    return {checker.cta, checker.pipeline, work, token, at.slot, shifted};
  }

  // What lies ahead, of blocks that are zero or not: all in the windows of `r`?
  WGRAD_DEVICE bool are_near(RangeOfStage& r, const RawCursor<kConfig>& at, i32 stage) const {
    using Near = NearA<kConfig>;
    using OfB = NearB<kConfig>;
    const u32 bytes = scan<true>(at, stage).bytes_of_stage(0);
    const i32 rows_a = checker.cta.params.m - work.m0, rows_b = checker.cta.params.n - work.n0;
    const u32 a = ahead(stage, 0), b = ahead(stage, kBlocksA);
    if (stage == 0) {
      r.least_a = Near::least_for(checker.largest_of_all(largest<kBlocksA>(a, rows_a, bytes)));
      r.least_b = OfB::least_for(checker.largest_of_all(largest<kBlocksB>(b, rows_b, bytes)));
    }
    if (r.range != ScaleRange::kNear) return false;
    constexpr u32 kMoreA = Near::kWindow.count - 1, kMoreB = OfB::kWindow.count - 1;
    return Checker::all(lie_in<kBlocksA>(a, rows_a, bytes, r.least_a, r.least_a + kMoreA) &&
                        lie_in<kBlocksB>(b, rows_b, bytes, r.least_b, r.least_b + kMoreB));
  }

  // `r`: of the stage before, or the tile's first.
  WGRAD_DEVICE void look(RangeOfStage& r, const RawCursor<kConfig>& at, i32 stage) const {
    const ScaledPipeline<kConfig>& pipeline = checker.pipeline;
    const bool near = are_near(r, at, stage);
    pipeline.wait_raw_empty(at);
    const u32 lane_at = arch::lane_index() * 16;
#pragma unroll
    for (u32 i = 0; i < kBlocksA + kBlocksB; ++i) {
      const u32 to = i < kBlocksA
                         ? pipeline.scales_a(at.slot) + i * u32{kScaleAtomBytes}
                         : pipeline.scales_b(at.slot) + (i - kBlocksA) * u32{kScaleAtomBytes};
      arch::store_shared(to + lane_at, arch::load_shared(ahead(stage, i)));
    }
    if (!near) {  // zeros have any scale factor: the codes tell
      arch::warp_sync();
      pipeline.wait_raw_full(at);
      checker.look(
          r, [&] { return scan<true>(at, stage); }, [&] { return scan<false>(at, stage); }, false);
    }
    if constexpr (decodes_columns(kConfig)) write_multipliers(r, at, stage);
  }

  WGRAD_DEVICE void look_at_tile(RawCursor<kConfig>& at) const {
    RangeOfStage r{ScaleRange::kNear, 0, 0};
    const i32 stages = raw_blocks(kConfig, work.blocks, shifted);
    fetch(0);
    arch::commit_copies();
    for (i32 stage = 0; stage < stages; ++stage, at.advance()) {
      if (stage + 1 < stages) fetch(stage + 1);
      arch::commit_copies();
      arch::wait_copies<1>();
      look(r, at, stage);
      checker.publish(at.slot, r);
    }
  }
};

}  // namespace wgrad::device
