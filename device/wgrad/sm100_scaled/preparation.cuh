// Four warps between the copies and the multiplier, where an operand is K-major. A stage's row
// begins with the copy unit that holds its first token: it moves up to 15 bytes to the left, and
// the next stage's row, which has landed but not moved yet, fills its end. Foreign tokens become
// zeros in both operands, since 0 x Inf is NaN; of packed FP4, of which one product takes several
// scale factors of a row, those of foreign tokens too: padding may be NaN.
#pragma once

#include "wgrad/common/work_queue.cuh"
#include "wgrad/sm100_scaled/stage.cuh"

namespace wgrad::device {

// 16 bytes that begin `bytes` into the first of two neighbouring units.
struct ByteMove {
  u32 bytes;  // 0 to 15

  WGRAD_DEVICE arch::Chunk operator()(const arch::Chunk& low, const arch::Chunk& high) const {
    u32 word[7];
#pragma unroll
    for (u32 i = 0; i < 7; ++i) {
      const u32 two_on = i < 2 ? low.word[i + 2] : i < 6 ? high.word[i - 2] : 0;
      word[i] = bytes & 8 ? two_on : i < 4 ? low.word[i] : high.word[i - 4];
    }
#pragma unroll
    for (u32 i = 0; i < 6; ++i) word[i] = bytes & 4 ? word[i + 1] : word[i];
    arch::Chunk c{};
#pragma unroll
    for (u32 i = 0; i < 4; ++i)
      c.word[i] = u32((u64{word[i + 1]} << 32 | word[i]) >> (bytes % 4 * 8));
    return c;
  }
};

// The first `bits` of a unit.
WGRAD_DEVICE void keep_bits(arch::Chunk& c, i32 bits) {
#pragma unroll
  for (i32 i = 0; i < 4; ++i) {
    const i32 kept = bits - 32 * i;
    c.word[i] &= kept >= 32 ? ~0u : kept <= 0 ? 0u : (1u << kept) - 1;
  }
}

// One thread: a row of 128 bytes, of which `bits` belong to the expert, moves `shift` bytes to the
// left. `next`: the tile of the next stage, of which the same thread will move this row later;
// after the last any tile that has landed.
WGRAD_DEVICE void move_code_row(u32 tile, u32 next, u32 row, u32 shift, i32 bits) {
  constexpr u32 kUnits = u32(kSwizzleBytes / kCopyUnit);
  const ByteMove move{shift};
  arch::Chunk low = arch::load_shared(swizzled(tile, row, 0));
#pragma unroll
  for (u32 unit = 0; unit < kUnits; ++unit) {
    const bool last = unit + 1 == kUnits;
    const arch::Chunk high =
        arch::load_shared(swizzled(last ? next : tile, row, last ? 0 : unit + 1));
    arch::Chunk moved = move(low, high);
    keep_bits(moved, bits - i32(unit) * kCopyUnit * 8);
    arch::store_shared(swizzled(tile, row, unit), moved);
    low = high;
  }
}
// The same of a row that begins where it should.
WGRAD_DEVICE void mask_code_row(u32 tile, u32 row, i32 bits) {
  for (u32 unit = u32(bits) / (kCopyUnit * 8); unit < u32(kSwizzleBytes / kCopyUnit); ++unit) {
    const u32 address = swizzled(tile, row, unit);
    arch::Chunk c = arch::load_shared(address);
    keep_bits(c, bits - i32(unit) * kCopyUnit * 8);
    arch::store_shared(address, c);
  }
}

template <shared::sm100_scaled::Config kConfig>
struct ScaledPreparation {
  static constexpr u32 kThreads = preparation_warps(kConfig) * 32;
  static constexpr u32 kAtoms = u32(stage_atoms(kConfig));
  static constexpr i32 kRowBits = kSwizzleBytes * 8;
  // More than one scale factor a row in one product, copied as they lie.
  static constexpr bool kCleansScales =
      mma_scales(mma_kind(kConfig)) > 1 && kConfig.storage == ScaleStorage::kAtoms;

  const Cta<kConfig>& cta;
  ScaledStages<kConfig> stages;
  u32 thread = 0;  // of kThreads
  WorkQueue<kConfig> queue;
  StageCursor<kConfig> at{};

  template <bool kOfA>
  WGRAD_DEVICE void prepare_codes(u32 tile, u32 next, i32 row, const Work& w, i32 bits) const {
    using Side = CodeSide<kConfig, kOfA>;
    if constexpr (Side::kKMajor) {
      const typename Side::Rows rows(scaled_params(cta), w.tokens);
      const u32 first = u32(rows.start(u32(row))), pitch = u32(rows.pitch);
#pragma unroll 1
      for (u32 r = thread; r < Side::kRows; r += kThreads) {
        const u32 shift = (first + r * pitch) % u32{kCopyUnit};
        if (shift != 0) {
          move_code_row(tile, next, r, shift, bits);
        } else if (bits < kRowBits) {
          mask_code_row(tile, r, bits);
        }
      }
    }
  }

  // Columns of the stage's last atom from `columns` on.
  WGRAD_DEVICE static void clean_atom(u32 atom, u32 row, u32 columns) {
    const u32 address = atom + scale_offset<1>(row);
    const u32 kept = (1u << (8 * columns)) - 1;
    arch::store_shared_u32(address, arch::load_shared_u32(address) & kept);
  }
  WGRAD_DEVICE void clean_scales(u32 stage, const Work& w, i32 left) const {
    const u32 columns = ceil_div(u32(min_of(left, kConfig.tile_k)), u32(kConfig.vec_size));
    const u32 atom = columns / kScaleAtomColumns * kScaleAtomBytes;
    const u32 kept = columns % kScaleAtomColumns;
    if (kept == 0) return;
    clean_atom(stages.scales_a(stage) + atom, thread, kept);
    const u32 blocks = atom_rows<u32(kConfig.tile_n)>(w.n0, cta.params.n);
    for (u32 block = 0; block < blocks; ++block)
      clean_atom(stages.scales_b(stage) + block * kAtoms * kScaleAtomBytes + atom, thread, kept);
  }

  // `next`: where the next stage of the tile has landed; the stage itself after the last.
  WGRAD_DEVICE void prepare_stage(u32 next, const Work& w, i32 block) const {
    const i32 left = tokens_left<kConfig>(w, block);
    const i32 bits = min_of(left, kConfig.tile_k) * bits_of(kConfig.input);
    prepare_codes<true>(stages.a(at.slot), stages.a(next), w.m0, w, bits);
    prepare_codes<false>(stages.b(at.slot), stages.b(next), w.n0, w, bits);
    if constexpr (kCleansScales) clean_scales(at.slot, w, left);
  }

  // A stage that moves needs its successor, which the same threads move after it.
  WGRAD_DEVICE void prepare(const Work& w) {
    const ScaledParams& p = scaled_params(cta);
    const i32 count = stage_count<kConfig>(p, w);
    const bool moves = CodeSide<kConfig, true>::most_shift(p, w.tokens) != 0 ||
                       CodeSide<kConfig, false>::most_shift(p, w.tokens) != 0;
    for (i32 block = 0; block < count; ++block, at.advance()) {
      stages.wait_full(at);
      StageCursor<kConfig> next = at;
      if (moves && block + 1 < count) {
        next.advance();
        stages.wait_full(next);
      }
      if (block < w.blocks) prepare_stage(next.slot, w, block);
      arch::fence_async_shared();
      arrive_together(stages.ready(at.slot));
    }
  }

  WGRAD_DEVICE void run() {
    for (;; queue.at.advance()) {
      const Work w = queue.read();
      if (w.blocks < 0) break;
      queue.let_go_together();
      prepare(w);
    }
  }
};

}  // namespace wgrad::device
