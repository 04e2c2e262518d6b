// The copying warps: one thread has the copy engine fill stages with codes and atoms of scale
// factors, one schedules, two warps copy what no tensor map describes: ragged K-major rows, K-major
// rows whose pitch is no whole number of copy units, compact scale factors.
#pragma once

#include "wgrad/common/scheduler.cuh"
#include "wgrad/sm100_scaled/stage.cuh"

namespace wgrad::device {

template <shared::sm100_scaled::Config kConfig>
struct CodeProducer {
  static constexpr u32 kAtoms = u32(stage_atoms(kConfig));
  using A = CodeSide<kConfig, true>;
  using B = CodeSide<kConfig, false>;

  const Cta<kConfig>& cta;
  ScaledStages<kConfig> stages;

  // Rows of an operand from `row` on: K-major those of 128 bytes that hold the stage's first token,
  // MN-major exactly the stage's tokens, zeros after the expert's last.
  template <typename Side>
  WGRAD_DEVICE void load_codes(u32 tile, u32 barrier, const TensorMap& map, i32 row, const Work& w,
                               i32 block) const {
    if constexpr (Side::kKMajor) {
      if (Side::Rows::copied(scaled_params(cta))) return;
      const i32 first = i32(Side::Rows::bytes(w.tokens.begin));
      const i32 unit = first - first % kCopyUnit + block * kSwizzleBytes;
      arch::load_box<2>(tile, map, barrier, {{unit, row, 0, 0, 0}});
    } else {
      constexpr i32 kBound = i32{kRaggedTokens};
      const i32 token = w.tokens.begin + block * kConfig.tile_k;
      const i32 left = min_of(w.tokens.end - token, kConfig.tile_k);  // below 0: nothing is read
#pragma unroll
      for (u32 box = 0; box < Side::kRows / u32{kSwizzleBytes}; ++box) {
        const arch::Coord x{
            {row + i32(box) * kSwizzleBytes, kBound - left, kBound, token + left, 0}};
        arch::load_box<4>(tile + box * u32(kConfig.tile_k * kSwizzleBytes), map, barrier, x);
      }
    }
  }

  WGRAD_DEVICE u32 code_bytes() const {
    const ScaledParams& p = scaled_params(cta);
    return (A::Rows::copied(p) ? 0 : A::kStageBytes) + (B::Rows::copied(p) ? 0 : B::kStageBytes);
  }

  WGRAD_DEVICE static bool has_atoms(const Work& w, i32 block) {
    return kConfig.storage == ScaleStorage::kAtoms && block < w.blocks;
  }
  WGRAD_DEVICE u32 scale_bytes(const Work& w, i32 block, u32 pitch, u32 column) const {
    if (!has_atoms(w, block)) return 0;
    return (atom_rows<A::kRows>(w.m0, cta.params.m) + atom_rows<B::kRows>(w.n0, cta.params.n)) *
           atom_columns<kAtoms>(pitch, column) * kScaleAtomBytes;
  }

  // `first_column`: the expert's, in the tensors.
  WGRAD_DEVICE void copy_stage(u32 stage, const Work& w, u32 first_column, i32 block) const {
    const ScaledParams& p = scaled_params(cta);
    const u32 full = stages.full(stage), pitch = columns_of<kConfig>(w.tokens);
    const u32 column = u32(block * stage_columns(kConfig));
    arch::barrier_arrive_expect(full, code_bytes() + scale_bytes(w, block, pitch, column));
    load_codes<A>(stages.a(stage), full, p.map_a, w.m0, w, block);
    load_codes<B>(stages.b(stage), full, p.map_b, w.n0, w, block);
    if (!has_atoms(w, block)) return;
    load_atoms<A::kRows, kAtoms>(stages.scales_a(stage), full, p.sfa, w.m0, p.m, first_column,
                                 pitch, column);
    load_atoms<B::kRows, kAtoms>(stages.scales_b(stage), full, p.sfb, w.n0, p.n, first_column,
                                 pitch, column);
  }

  // One thread.
  WGRAD_DEVICE void run() const {
    StageCursor<kConfig> at;
    for (WorkQueue<kConfig> queue{.base = cta.smem};; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      const u32 first_column = arch::load_shared_u32(queue.extra_entry());
      queue.let_go();
      const i32 count = stage_count<kConfig>(scaled_params(cta), w);
      for (i32 block = 0; block < count; ++block, at.advance()) {
        stages.wait_empty(at);
        copy_stage(at.slot, w, first_column, block);
      }
    }
  }
};

// Warps that copy, several stages in flight. A warp hands a stage over once its copies are there:
// when later ones are on their way, or before it waits for anything.
template <shared::sm100_scaled::Config kConfig>
struct CodeCopier {
  static constexpr u32 kThreads = u32(copier_warps(kConfig)) * 32;
  static constexpr u32 kColumns = u32(stage_columns(kConfig));
  static constexpr u32 kInFlight = u32(min_of(kConfig.stages - 1, 2));  // stages
  static constexpr u32 kUnits = u32(kSwizzleBytes / kCopyUnit);         // of a row

  const Cta<kConfig>& cta;
  ScaledStages<kConfig> stages;
  u32 thread = 0;  // among kThreads
  StageCursor<kConfig> oldest{};
  u32 in_flight = 0;

  template <bool kOfA>
  WGRAD_DEVICE void copy_codes(u32 tile, i32 row, i32 extent, const Work& w, i32 block) const {
    using Side = CodeSide<kConfig, kOfA>;
    if constexpr (Side::kKMajor) {
      const typename Side::Rows rows(scaled_params(cta), w.tokens);
      if (!rows.are_copied) return;
      copy_rows<Side::kRows, kUnits, true, kThreads>(tile, rows, row, extent,
                                                     block * kConfig.tile_k, thread);
    }
  }

  WGRAD_DEVICE void copy(u32 stage, const Work& w, u32 first_column, i32 block) {
    const ScaledParams& p = scaled_params(cta);
    if (kConfig.storage == ScaleStorage::kCompact && block < w.blocks) {
      const u32 column = u32(block) * kColumns, columns = columns_of<kConfig>(w.tokens);
      copy_scales<u32(kConfig.tile_m), kColumns, kThreads>(
          stages.scales_a(stage), {p.sfa, p.sfa_cols, first_column, columns}, w.m0, p.m, column,
          thread);
      copy_scales<u32(kConfig.tile_n), kColumns, kThreads>(
          stages.scales_b(stage), {p.sfb, p.sfb_cols, first_column, columns}, w.n0, p.n, column,
          thread);
    }
    copy_codes<true>(stages.a(stage), w.m0, p.m, w, block);
    copy_codes<false>(stages.b(stage), w.n0, p.n, w, block);
    arch::commit_copies();
    ++in_flight;
    if (in_flight > kInFlight) hand_over<kInFlight>();
  }

  // Every stage but the last kLeft. The tensor core reads them.
  template <u32 kLeft>
  WGRAD_DEVICE void hand_over() {
    if (in_flight <= kLeft) return;
    arch::wait_copies<kLeft>();
    arch::fence_async_shared();
    for (; in_flight > kLeft; --in_flight, oldest.advance())
      arrive_together(stages.full(oldest.slot));
  }
  // All lanes, before they wait for `barrier`: whoever is to complete it may need the stages in
  // flight.
  WGRAD_DEVICE void hand_over_before(u32 barrier, u32 parity) {
    if (arch::warp_uniform(arch::barrier_test(barrier, parity) ? 1 : 0) == 0) hand_over<0>();
  }

  WGRAD_DEVICE void run() {
    StageCursor<kConfig> at;
    for (WorkQueue<kConfig> queue{.base = cta.smem};; queue.at.advance()) {
      hand_over_before(queue.full(), queue.at.parity);
      const Work w = queue.read();
      if (w.blocks < 0) break;
      const u32 first_column = arch::load_shared_u32(queue.extra_entry());
      queue.let_go_together();
      const i32 count = stage_count<kConfig>(scaled_params(cta), w);
      for (i32 block = 0; block < count; ++block, at.advance()) {
        hand_over_before(stages.empty(at.slot), at.parity ^ 1);
        stages.wait_empty(at);
        copy(at.slot, w, first_column, block);
      }
    }
    hand_over<0>();
  }
};

// The copying warps; `thread` of their 128.
template <shared::sm100_scaled::Config kConfig>
WGRAD_DEVICE void produce_stages(const Cta<kConfig>& cta, u32 warp, u32 thread) {
  namespace roles = shared::sm100_scaled::roles;
  if (thread == 0) {
    CodeProducer<kConfig>{.cta = cta, .stages = {{.base = cta.smem}}}.run();
  } else if (thread == roles::kScheduler * 32) {
    Scheduler<kConfig>(cta).run();
  }
  if constexpr (copier_warps(kConfig) > 0) {
    if (warp >= roles::kFirstCopier)
      CodeCopier<kConfig>{
          .cta = cta, .stages = {{.base = cta.smem}}, .thread = thread - roles::kFirstCopier * 32}
          .run();
  }
}

}  // namespace wgrad::device
