// Where an expert's scale factors begin: the columns that the experts before it take up. Sums over
// so many experts are kept in shared memory, the rest is added up where it is needed.
#pragma once

#include "wgrad/common/setup.cuh"
#include "wgrad/common/work_queue.cuh"
#include "wgrad/shared/scaled_params.hpp"

namespace wgrad::device {

template <KernelConfig auto kConfig>
WGRAD_DEVICE const ScaledParams& scaled_params(const Cta<kConfig>& cta) {
  return static_cast<const ScaledParams&>(cta.params);
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE u32 columns_of(TokenRange tokens) {
  const u32 columns = ceil_div(u32(tokens.end - tokens.begin), u32(kConfig.vec_size));
  return kConfig.storage == ScaleStorage::kAtoms ? round_up(columns, u32{kScaleAtomColumns})
                                                 : columns;
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE u32 columns_of_experts(const KernelParams& p, u32 first, u32 end) {
  u32 columns = 0;
  for (u32 e = first; e < end; ++e) columns += columns_of<kConfig>(expert_tokens(p, i32(e)));
  return columns;
}

WGRAD_DEVICE u32 experts_per_checkpoint(const KernelParams& p) {
  return ceil_div(u32(p.experts), kColumnCheckpoints);
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE u32 checkpoint(const Cta<kConfig>& cta, u32 index) {
  constexpr Place kColumns = place_of(kConfig, "columns");
  return cta.smem + kColumns.at + 4 * index;
}

// All threads, of which there are at least kColumnCheckpoints; a barrier of theirs must follow.
template <KernelConfig auto kConfig>
WGRAD_DEVICE void write_checkpoints(const Cta<kConfig>& cta) {
  const u32 thread = arch::thread_index(), count = u32(cta.params.experts);
  const u32 step = experts_per_checkpoint(cta.params);
  if (thread < kColumnCheckpoints) {
    const u32 first = min_of(thread * step, count), end = min_of(first + step, count);
    arch::store_shared_u32(checkpoint(cta, thread),
                           columns_of_experts<kConfig>(cta.params, first, end));
  }
  arch::cta_sync();
  u32 before = 0;
  if (thread < kColumnCheckpoints) {
    for (u32 i = 0; i < thread; ++i) before += arch::load_shared_u32(checkpoint(cta, i));
  }
  arch::cta_sync();
  if (thread < kColumnCheckpoints) arch::store_shared_u32(checkpoint(cta, thread), before);
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE u32 columns_before(const Cta<kConfig>& cta, i32 expert) {
  const u32 step = experts_per_checkpoint(cta.params), index = u32(expert) / step;
  return arch::load_shared_u32(checkpoint(cta, index)) +
         columns_of_experts<kConfig>(cta.params, index * step, u32(expert));
}

// Scale factors of a tile's rows of one operand: atoms of 128 rows, of which those beyond the
// last row do not exist.
struct ScaleAtoms {
  u64 first;   // address of the expert's first
  u64 pitch;   // bytes to those of the 128 rows after
  u32 blocks;  // of 128 rows

  // `column`: the expert's first, of `columns`.
  WGRAD_DEVICE ScaleAtoms(u64 scales, i32 row, i32 extent, u32 rows, u32 column, u32 columns)
      : first(scales + u64(round_up(extent, kScaleAtomRows)) * column + u64(u32(row)) * columns),
        pitch(u64{columns} * u32{kScaleAtomRows}),
        blocks(min_of(rows, u32(round_up(extent - row, kScaleAtomRows))) / u32{kScaleAtomRows}) {}
};

// Scale columns that both tensors hold.
WGRAD_DEVICE i64 held_columns(const ScaledParams& p) {
  return min_of(p.sfa_cols, p.sfb_cols);
}

// Two codes of a byte of packed FP4 belong to one expert.
template <KernelConfig auto kConfig>
WGRAD_DEVICE bool begins_odd(TokenRange tokens) {
  return kConfig.element_a == ElementType::kE2m1 && tokens.end > tokens.begin &&
         tokens.begin % 2 != 0;
}

// One CTA looks at all experts, once the checkpoints are written.
template <KernelConfig auto kConfig>
WGRAD_DEVICE void check_scaled_data(const Cta<kConfig>& cta) {
  if (arch::block_index() != 0 || cta.params.fault == 0) return;
  const ScaledParams& p = scaled_params(cta);
  for (u32 e = arch::thread_index(); e < u32(p.experts); e += arch::thread_count()) {
    const TokenRange tokens = expert_tokens(p, i32(e));
    const i64 end = i64{columns_before(cta, i32(e))} + columns_of<kConfig>(tokens);
    if (begins_odd<kConfig>(tokens)) {
      record_fault(p, FaultKind::kBeginOdd, i32(e), tokens.begin, 2);
    } else if (end > held_columns(p)) {
      record_fault(p, FaultKind::kScaleColumns, i32(e), end, held_columns(p));
    }
  }
}

// What the roles need to know of a tile's scale factors.
template <KernelConfig auto kConfig>
requires(is_block_scaled(kConfig)) struct TileExtra<kConfig> {
  static constexpr bool kAny = true;
  static constexpr u32 kOffset = place_of(kConfig, "work scales").at, kBytes = 16;

  // Words: the expert's first scale column, global factors of A and B. An expert of bad data counts
  // as one without tokens.
  WGRAD_DEVICE static arch::Chunk look_up(const Cta<kConfig>& cta, i32 expert, Work& w) {
    const ScaledParams& p = scaled_params(cta);
    const u32 first = columns_before(cta, expert);
    const i64 end = i64{first} + columns_of<kConfig>(w.tokens);
    if (end > held_columns(p) || begins_odd<kConfig>(w.tokens)) w.blocks = 0;
    arch::Chunk extra{{first, 0, 0, 0}};
    if constexpr (kConfig.global_scale) {
      extra.word[1] = u32(arch::load_global_i32(p.global_a + 4 * u64(expert)));
      extra.word[2] = u32(arch::load_global_i32(p.global_b + 4 * u64(expert)));
    }
    return extra;
  }
};

}  // namespace wgrad::device
