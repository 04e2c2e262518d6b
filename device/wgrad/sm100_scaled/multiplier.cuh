// The multiplier: one thread that issues, stage after stage, the copies of scale factors into
// tensor memory and tcgen05.mma. Nothing of it waits for a product: commits tell the producer when
// a stage is read and the epilogue when a tile is summed.
#pragma once

#include "wgrad/common/tile.cuh"
#include "wgrad/common/work_queue.cuh"
#include "wgrad/shared/instruction_descriptor.hpp"
#include "wgrad/shared/matrix_descriptor.hpp"
#include "wgrad/sm100/accumulators.cuh"
#include "wgrad/sm100_scaled/stage.cuh"

namespace wgrad::device {

// A stage's codes as tcgen05.mma reads them.
template <shared::sm100_scaled::Config kConfig, bool kOfA>
struct MmaCodes {
  static constexpr bool kKMajor = CodeSide<kConfig, kOfA>::kKMajor;

  WGRAD_DEVICE static u64 descriptor(u32 address) {
    constexpr MatrixForm kForm = kKMajor ? kKMajor128 : mn_major_128(u32(kConfig.tile_k));
    return matrix_descriptor(kForm, address);
  }
  // What to add to a descriptor for step s of the stage: 32 bytes of a row, or 32 rows of bytes.
  static constexpr u64 step(u32 s) { return (kKMajor ? s * 32 : s * 32 * kSwizzleBytes) >> 4; }
};

template <shared::sm100_scaled::Config kConfig>
struct ScaledMultiplier {
  static constexpr MmaKind kKind = mma_kind(kConfig);
  static constexpr u32 kSteps = u32(stage_steps(kConfig));
  static constexpr u32 kDepth = mma_depth(kKind);
  static constexpr u32 kAtoms = u32(stage_atoms(kConfig));
  static constexpr u32 kBlocks = u32(b_blocks(kConfig));
  static constexpr u32 kAtomColumns = shared::sm100_scaled::kAtomColumns;
  static constexpr i32 kColumnStep = 64;
  using A = MmaCodes<kConfig, true>;
  using B = MmaCodes<kConfig, false>;

  const Cta<kConfig>& cta;
  ScaledStages<kConfig> stages;
  Accumulators<kConfig> accumulators;
  WorkQueue<kConfig> queue;
  StageCursor<kConfig> at{};

  // Columns past the end of a row are left out, 64 at a time.
  WGRAD_DEVICE u32 instruction(const Work& w) const {
    const i32 all = round_up(cta.params.n - w.n0, kColumnStep);
    const MmaShape shape{u32(kConfig.tile_m), u32(min_of(kConfig.tile_n, all))};
    if constexpr (kKind == MmaKind::kMxf8f6f4) {
      return mxf8f6f4_instruction(kConfig.element_a, kConfig.element_b, shape,
                                  {!A::kKMajor, !B::kKMajor});
    }
    return mxf4_instruction(kConfig.scale, shape);
  }

  // Tensor memory of an atom's scale factors, of the first 128 rows.
  WGRAD_DEVICE u32 columns_a(u32 atom) const {
    return accumulators.memory + scale_columns_a(kConfig) +
           (at.slot * kAtoms + atom) * kAtomColumns;
  }
  WGRAD_DEVICE u32 columns_b(u32 atom) const {
    return accumulators.memory + scale_columns_b(kConfig) +
           (at.slot * kAtoms + atom) * (kBlocks * kAtomColumns);
  }

  WGRAD_DEVICE static void copy_atom(u32 columns, u32 scales) {
    arch::tcgen05_copy_scales<1>(columns, matrix_descriptor(kScaleAtoms, scales));
  }
  WGRAD_DEVICE void copy_atoms(const Work& w, u32 atom) const {
    copy_atom(columns_a(atom), stages.scales_a(at.slot) + atom * kScaleAtomBytes);
#pragma unroll
    for (u32 block = 0; block < kBlocks; ++block) {
      if (block > 0 && w.n0 + i32(block) * kScaleAtomRows >= cta.params.n) break;
      copy_atom(columns_b(atom) + block * kAtomColumns,
                stages.scales_b(at.slot) + (block * kAtoms + atom) * kScaleAtomBytes);
    }
  }

  // The first `steps` of a stage: all that hold tokens. What lies behind is not multiplied, not
  // even by zero: its scale factors may be NaN. `keep` 0 starts a new sum.
  WGRAD_DEVICE void multiply_stage(const Work& w, u32 instruction, u32 steps, u32 keep) const {
    constexpr u32 kScales = mma_scales(kKind);
    const u64 a = A::descriptor(stages.a(at.slot)), b = B::descriptor(stages.b(at.slot));
#pragma unroll
    for (u32 s = 0; s < kSteps; ++s) {
      const u32 column = s * kScales, byte = column % kScaleAtomColumns;
      const u32 atom = column / kScaleAtomColumns;
      if (s >= steps) break;
      if (byte == 0) copy_atoms(w, atom);
      arch::tcgen05_multiply_scaled<kKind, 1>(accumulators.tile(), a + A::step(s), b + B::step(s),
                                              with_scale_bytes(instruction, byte, byte),
                                              columns_a(atom), columns_b(atom), s == 0 ? keep : 1);
    }
  }

  WGRAD_DEVICE void wait_stage() const {
    if constexpr (prepares_stages(kConfig)) {
      arch::barrier_wait(stages.ready(at.slot), at.parity);
    } else {
      stages.wait_full(at);
    }
    // Scale factors of the stage that was here before are read: their columns are free.
    stages.wait_empty(at);
    arch::tcgen05_fence_after_sync();
  }

  WGRAD_DEVICE void multiply(const Work& w) {
    const u32 instruction = this->instruction(w);
    const i32 count = stage_count<kConfig>(scaled_params(cta), w);
    accumulators.wait_empty();
    for (i32 block = 0; block < count; ++block, at.advance()) {
      wait_stage();
      const i32 left = max_of(tokens_left<kConfig>(w, block), 0);
      multiply_stage(w, instruction, ceil_div(u32(left), kDepth), block == 0 ? 0 : 1);
      arch::tcgen05_commit<1>(stages.empty(at.slot));
    }
    arch::tcgen05_commit<1>(accumulators.full());
    accumulators.at.advance();
  }

  // An entry of the queue is kept until its last product is issued: the scheduler claims long tiles
  // by it. At the end every commit's arrival is waited for: shared memory must outlive it.
  WGRAD_DEVICE void run() {
    for (;; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      if (w.blocks > 0) multiply(w);
      queue.let_go();
    }
    stages.wait_all_empty(at);
  }
};

}  // namespace wgrad::device
