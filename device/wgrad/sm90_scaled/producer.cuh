// The copying warpgroup: one thread has the copy engine fill raw stages with codes and atoms of
// scale factors, one or two warps copy what no tensor map describes, one looks at the range of the
// scale factors, and one thread schedules.
#pragma once

#include "wgrad/common/operand.cuh"
#include "wgrad/common/scheduler.cuh"
#include "wgrad/sm90_scaled/scale_range.cuh"

namespace wgrad::device {

// Columns of a map's row of bytes that one box of an MN-major operand holds.
inline constexpr i32 kRawBoxColumns = kSwizzleBytes;

template <KernelConfig auto kConfig>
struct ScaledProducer {
  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;

  // Codes of all tokens of the stage; of K-major rows the units that hold them.
  template <bool kOfA>
  WGRAD_DEVICE void load_codes(u32 tile, u32 barrier, const TensorMap& map, i32 row, const Work& w,
                               i32 token) const {
    using S = Side<kConfig, kOfA>;
    if constexpr (is_mn_major(S::kRaw)) {
      constexpr i32 kBound = i32{kRaggedTokens};
      const i32 left = min_of(w.tokens.end - token, raw_tokens(kConfig));
#pragma unroll
      for (u32 j = 0; j < S::kRows / u32{kRawBoxColumns}; ++j) {
        const arch::Coord x{
            {row + i32(j) * kRawBoxColumns, kBound - left, kBound, token + left, 0}};
        arch::load_box<4>(tile + j * u32(kRawBoxColumns * raw_tokens(kConfig)), map, barrier, x);
      }
    } else if (!copies_rows<kOfA>()) {
      const i32 first = i32(i64{token} * element_bits(S::kElement) / 8);
      arch::load_box<2>(tile, map, barrier, {{first - first % kCopyUnit, row, 0, 0, 0}});
    }
  }
  template <bool kOfA>
  WGRAD_DEVICE bool copies_rows() const {
    return CodeRows<kConfig, kOfA>::copied(scaled_params(cta));
  }
  WGRAD_DEVICE u32 code_bytes() const {
    return (copies_rows<true>() ? 0 : u32(raw_a_bytes(kConfig))) +
           (copies_rows<false>() ? 0 : u32(raw_b_bytes(kConfig)));
  }

  template <u32 kRows>
  WGRAD_DEVICE static void load_atoms(u32 target, u32 barrier, const ScaleAtoms& atoms, u64 offset,
                                      u32 bytes) {
#pragma unroll
    for (u32 j = 0; j < kRows / u32{kScaleAtomRows}; ++j) {
      if (j >= atoms.blocks) break;
      arch::load_bytes(target + j * u32(raw_atoms(kConfig) * kScaleAtomBytes),
                       atoms.first + offset + j * atoms.pitch, bytes, barrier);
    }
  }

  // One thread: everything the copy engine brings into the stages of a tile. What stages share is
  // worked out once: a stage lasts no longer than a few hundred instructions of one thread.
  WGRAD_DEVICE void copy_tile(RawCursor<kConfig>& at, const Work& w, u32 first_column) const {
    constexpr bool kCopiesAtoms =
        kConfig.storage == ScaleStorage::kAtoms && !reads_scales_ahead(kConfig);
    constexpr u32 kAtomTokens = u32(kScaleAtomColumns * kConfig.vec_size);
    constexpr u32 kStageBytes = u32(raw_atoms(kConfig) * kScaleAtomBytes);
    const ScaledParams& p = scaled_params(cta);
    const u32 step = u32(used_raw_tokens(kConfig, are_shifted(cta, w.tokens)));
    const u32 columns = columns_of<kConfig>(w.tokens), codes = code_bytes();
    const ScaleAtoms a(p.sfa, w.m0, p.m, u32(kConfig.tile_m), first_column, columns);
    const ScaleAtoms b(p.sfb, w.n0, p.n, u32(kConfig.tile_n), first_column, columns);
    const u32 tokens = u32(w.tokens.end - w.tokens.begin);
    for (u32 skipped = 0; skipped < tokens; skipped += step, at.advance()) {
      const i32 token = w.tokens.begin + i32(skipped);
      // An expert's last stage may lack some atoms.
      const u64 offset = u64{skipped / kAtomTokens} * u32{kScaleAtomBytes};
      const u32 bytes = u32(min_of(a.pitch - offset, u64{kStageBytes}));
      pipeline.wait_raw_empty(at);
      const u32 full = pipeline.raw_full(at.slot);
      arch::barrier_arrive_expect(full, codes + (kCopiesAtoms ? (a.blocks + b.blocks) * bytes : 0));
      load_codes<true>(pipeline.raw_a(at.slot), full, p.map_a, w.m0, w, token);
      load_codes<false>(pipeline.raw_b(at.slot), full, p.map_b, w.n0, w, token);
      if constexpr (kCopiesAtoms) {
        load_atoms<u32(kConfig.tile_m)>(pipeline.scales_a(at.slot), full, a, offset, bytes);
        load_atoms<u32(kConfig.tile_n)>(pipeline.scales_b(at.slot), full, b, offset, bytes);
      }
    }
  }

  // One thread.
  WGRAD_DEVICE void run() const {
    RawCursor<kConfig> at;
    for (WorkQueue<kConfig> queue{cta.smem};; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      const u32 first_column = arch::load_shared_u32(queue.extra_entry());
      queue.let_go();
      if (w.blocks > 0) copy_tile(at, w, first_column);
    }
  }
};

// Warps that copy what no tensor map describes, several stages in flight. A warp hands a stage over
// once its copies are there: when later ones are on their way, or before it waits for anything.
template <KernelConfig auto kConfig>
struct Copier {
  static constexpr u32 kThreads = u32(copier_warps(kConfig)) * 32;
  static constexpr u32 kColumns = u32(raw_columns(kConfig));
  static constexpr u32 kInFlight = u32(min_of(kConfig.raw_stages - 1, 2));  // stages

  const Cta<kConfig>& cta;
  ScaledPipeline<kConfig> pipeline;
  u32 thread = 0;  // among kThreads
  RawCursor<kConfig> oldest{};
  u32 in_flight = 0;

  // K-major codes, row by row. `first`: of the stage's tokens, among the expert's.
  template <bool kOfA>
  WGRAD_DEVICE void copy_operand(u32 stage, const Work& w, i32 first) const {
    using S = Side<kConfig, kOfA>;
    if constexpr (!is_mn_major(S::kRaw)) {
      constexpr u32 kUnits = u32(raw_pitch(kConfig, S::kElement)) / u32{kCopyUnit};
      const CodeRows<kConfig, kOfA> rows(scaled_params(cta), w.tokens);
      if (!rows.are_copied) return;
      copy_rows<S::kRows, kUnits, kConfig.registers_a, kThreads>(
          kOfA ? pipeline.raw_a(stage) : pipeline.raw_b(stage), rows, kOfA ? w.m0 : w.n0,
          kOfA ? cta.params.m : cta.params.n, first, thread);
    }
  }

  WGRAD_DEVICE void copy(u32 stage, const Work& w, u32 first_column, i32 first) {
    if constexpr (kConfig.storage == ScaleStorage::kCompact && !reads_scales_ahead(kConfig)) {
      const ScaledParams& p = scaled_params(cta);
      const u32 column = u32(first) / u32(kConfig.vec_size);
      const u32 columns = columns_of<kConfig>(w.tokens);
      copy_scales<u32(kConfig.tile_m), kColumns, kThreads>(
          pipeline.scales_a(stage), {p.sfa, p.sfa_cols, first_column, columns}, w.m0, p.m, column,
          thread);
      copy_scales<u32(kConfig.tile_n), kColumns, kThreads>(
          pipeline.scales_b(stage), {p.sfb, p.sfb_cols, first_column, columns}, w.n0, p.n, column,
          thread);
    }
    copy_operand<true>(stage, w, first);
    copy_operand<false>(stage, w, first);
    arch::commit_copies();
    ++in_flight;
    if (in_flight > kInFlight) hand_over<kInFlight>();
  }

  // Every stage but the last kLeft.
  template <u32 kLeft>
  WGRAD_DEVICE void hand_over() {
    if (in_flight <= kLeft) return;
    arch::wait_copies<kLeft>();
    for (; in_flight > kLeft; --in_flight, oldest.advance())
      pipeline.arrive_together(pipeline.raw_full(oldest.slot));
  }
  // All lanes, before they wait for `barrier`: whoever is to complete it may need the stages in
  // flight.
  WGRAD_DEVICE void hand_over_before(u32 barrier, u32 parity) {
    if (arch::warp_uniform(arch::barrier_test(barrier, parity) ? 1 : 0) == 0) hand_over<0>();
  }

  WGRAD_DEVICE void run() {
    RawCursor<kConfig> at;
    for (WorkQueue<kConfig> queue{cta.smem};; queue.at.advance()) {
      hand_over_before(queue.full(), queue.at.parity);
      const Work w = queue.read();
      if (w.blocks < 0) break;
      const u32 first = arch::load_shared_u32(queue.extra_entry());
      queue.let_go_together();
      const bool shifted = are_shifted(cta, w.tokens);
      for (i32 block = 0; block < raw_blocks(kConfig, w.blocks, shifted); ++block, at.advance()) {
        hand_over_before(pipeline.raw_empty(at.slot), at.parity ^ 1);
        pipeline.wait_raw_empty(at);
        copy(at.slot, w, first, block * used_raw_tokens(kConfig, shifted));
      }
    }
    hand_over<0>();
  }
};

// The copying warpgroup; the scheduler has a warp of its own, as has whoever looks at the range.
template <KernelConfig auto kConfig>
WGRAD_DEVICE void produce_codes(const Cta<kConfig>& cta, u32 thread) {
  if (thread == 0) {
    ScaledProducer<kConfig>{cta, {cta.smem}}.run();
  } else if (thread == 32) {
    Scheduler<kConfig>(cta).run();
  }
  if constexpr (copier_warps(kConfig) > 0) {
    if (thread >= 64 && thread < 64 + Copier<kConfig>::kThreads)
      Copier<kConfig>{cta, {cta.smem}, thread - 64}.run();
  }
  if constexpr (checks_range(kConfig)) {
    if (thread >= 96) RangeChecker<kConfig>{cta, {cta.smem}}.run();
  }
}

}  // namespace wgrad::device
