// Stages with a K-major operand, put right in shared memory before tensor cores read them. A
// tensor2d box starts at a multiple of 8 or 64 tokens and runs past the expert's end; an MN-major
// box beside it may start early too. A ragged row starts with the 16 bytes that hold its first
// token (ragged.cuh).
//   Windows: the 16 tokens that one MMA sums at once count from the expert's first token, or its
//   last bits would follow the other experts' counts. A K-major row moves up to 15 tokens to the
//   left; the next stage's row, which has landed but not moved yet, fills its end.
//   Foreign tokens: zero in both operands, since 0 x Inf is NaN.
#pragma once

#include "wgrad/common/pipeline.cuh"
#include "wgrad/common/tile.cuh"
#include "wgrad/common/work.cuh"

namespace wgrad::device {

inline constexpr u32 kRowChunks = kSwizzleBytes / 16;
inline constexpr u32 kChunksAtOnce = 4;  // of a row that moves: as many as registers are left for

// How far an operand's rows move to the left.
struct RowMove {
  u32 first;  // row 0, in tokens
  u32 pitch;  // ragged: more for each row, modulo 8

  WGRAD_DEVICE bool any() const { return (first | pitch) != 0; }
  WGRAD_DEVICE u32 of(u32 row) const { return (first + row * pitch) % u32{kTokenAlignment}; }
};

// `extent`: M or N. A tile's first row is a multiple of 8.
template <OperandLayout kLayout>
WGRAD_DEVICE RowMove row_move(TokenRange tokens, i32 extent, u32 shift) {
  if constexpr (kLayout == OperandLayout::kKMajor) return {shift, 0};
  if constexpr (kLayout == OperandLayout::kKMajorRagged) {
    constexpr u32 kUnit = kTokenAlignment;
    const RaggedBlock block(extent, tokens);
    return {u32(block.first) % kUnit, u32(block.length) % kUnit};
  }
  return {0, 0};
}

// Tokens of a stage that belong to the expert: [low, high) of [0, 64).
struct TokenWindow {
  i32 low;
  i32 high;

  WGRAD_DEVICE bool is_whole() const { return low == 0 && high == kTileK; }
  WGRAD_DEVICE bool has_all(i32 at) const { return at >= low && at + kTokenAlignment <= high; }
  WGRAD_DEVICE bool has_some(i32 at) const { return at < high && at + kTokenAlignment > low; }
};

// `token`: the stage's first, once it is moved.
WGRAD_DEVICE TokenWindow token_window(const Work& w, i32 token) {
  return {max_of(w.tokens.begin - token, 0), min_of(w.tokens.end - token, kTileK)};
}

// Two 16-bit tokens [at, at + 1] of a word.
WGRAD_DEVICE u32 mask_word(u32 word, TokenWindow keep, i32 at) {
  const u32 low = at >= keep.low && at < keep.high ? 0x0000ffffu : 0;
  const u32 high = at + 1 >= keep.low && at + 1 < keep.high ? 0xffff0000u : 0;
  return word & (low | high);
}
WGRAD_DEVICE void mask_words(arch::Chunk& c, TokenWindow keep, i32 at) {
#pragma unroll
  for (i32 i = 0; i < 4; ++i) c.word[i] = mask_word(c.word[i], keep, at + 2 * i);
}

WGRAD_DEVICE void mask_chunk(u32 address, TokenWindow keep, i32 at) {
  if (keep.has_all(at)) return;
  arch::Chunk c{};
  if (keep.has_some(at)) {
    c = arch::load_shared(address);
    mask_words(c, keep, at);
  }
  arch::store_shared(address, c);
}

// Moves that bring together 8 tokens which lie in two neighbouring units, 0 to 7 tokens into the
// first. kWords whole words, the same for every row: the compiler leaves a shift for each word.
template <u32 kWords>
struct WordMove {
  u32 bits;  // 0 or 16

  WGRAD_DEVICE arch::Chunk operator()(const arch::Chunk& low, const arch::Chunk& high) const {
    u32 word[5];
#pragma unroll
    for (u32 i = 0; i < 5; ++i)
      word[i] = i + kWords < 4 ? low.word[i + kWords] : high.word[i + kWords - 4];
    arch::Chunk c{};
#pragma unroll
    for (u32 i = 0; i < 4; ++i) c.word[i] = u32((u64{word[i + 1]} << 32 | word[i]) >> bits);
    return c;
  }
};
// Each row its own.
struct TokenMove {
  u32 tokens;

  WGRAD_DEVICE arch::Chunk operator()(arch::Chunk low, const arch::Chunk& high) const {
    u32 word[6];
#pragma unroll
    for (u32 i = 0; i < 6; ++i) {
      const u32 near = i < 4 ? low.word[i] : high.word[i - 4];
      word[i] = tokens & 4 ? (i < 2 ? low.word[i + 2] : high.word[i - 2]) : near;
    }
#pragma unroll
    for (u32 i = 0; i < 5; ++i) word[i] = tokens & 2 ? word[i + 1] : word[i];
    arch::Chunk c{};
#pragma unroll
    for (u32 i = 0; i < 4; ++i)
      c.word[i] = u32((u64{word[i + 1]} << 32 | word[i]) >> (tokens % 2 * 16));
    return c;
  }
};

// One thread: a row moves to the left, by `units` of 8 tokens and what `move` says. `next`: the
// tile of the next stage, of which the same thread will move this row later; after the last stage
// any tile that has landed, since what would come from there is foreign.
template <typename Move>
WGRAD_DEVICE void move_row(u32 tile, u32 next, u32 row, TokenWindow keep, u32 units, Move move) {
  const auto load = [&](u32 chunk) {
    return arch::load_shared(swizzled(chunk < kRowChunks ? tile : next, row, chunk % kRowChunks));
  };
  arch::Chunk c[kChunksAtOnce + 1];
  c[0] = load(units);
#pragma unroll
  for (u32 from = 0; from < kRowChunks; from += kChunksAtOnce) {
#pragma unroll
    for (u32 i = 0; i < kChunksAtOnce; ++i) c[i + 1] = load(units + from + i + 1);
#pragma unroll
    for (u32 i = 0; i < kChunksAtOnce; ++i) {
      const i32 at = i32(from + i) * kTokenAlignment;
      arch::Chunk moved = move(c[i], c[i + 1]);
      if (!keep.has_all(at)) mask_words(moved, keep, at);
      arch::store_shared(swizzled(tile, row, from + i), moved);
    }
    c[0] = c[kChunksAtOnce];
  }
}

// Rows `thread`, `thread` + kThreads, ... of a tile, all by `shift` (1 to 15) tokens.
template <u32 kRows, u32 kThreads, u32 kWords = 0>
WGRAD_DEVICE void move_rows(u32 tile, u32 next, TokenWindow keep, u32 shift, u32 thread) {
  const u32 units = shift / u32{kTokenAlignment};
  if constexpr (kWords < 3) {
    if (shift % u32{kTokenAlignment} / 2 != kWords)
      return move_rows<kRows, kThreads, kWords + 1>(tile, next, keep, shift, thread);
  }
  for (u32 row = thread; row < kRows; row += kThreads)
    move_row(tile, next, row, keep, units, WordMove<kWords>{shift % 2 * 16});
}

// Thread `thread` of kThreads puts its share of one operand's tile right.
template <OperandLayout kLayout, typename Tile, u32 kRows, u32 kThreads>
WGRAD_DEVICE void align_operand(u32 tile, u32 next, TokenWindow keep, RowMove move, u32 thread) {
  if constexpr (Tile::kMnMajor) {  // in its place, and only its head can be foreign
    const u32 chunks = (kRows / 64) * u32(keep.low) * 8;
    for (u32 i = thread; i < chunks; i += kThreads) {
      const u32 box = i / 8 / u32(keep.low), token = i / 8 % u32(keep.low);
      arch::store_shared(tile + Tile::token_row(box, token) + i % 8 * 16, arch::Chunk{});
    }
  } else if (move.any()) {
    if constexpr (kLayout == OperandLayout::kKMajor) {
      move_rows<kRows, kThreads>(tile, next, keep, move.first, thread);
    } else {
      for (u32 row = thread; row < kRows; row += kThreads)
        move_row(tile, next, row, keep, 0, TokenMove{move.of(row)});
    }
  } else if constexpr (kLayout == OperandLayout::kKMajor) {  // zeros follow a ragged row's end
    for (u32 row = thread; row < kRows; row += kThreads) {
#pragma unroll
      for (u32 chunk = 0; chunk < kRowChunks; ++chunk) {
        mask_chunk(swizzled(tile, row, chunk), keep, i32(chunk) * kTokenAlignment);
      }
    }
  }
}

// Thread `thread` of kThreads puts its share of a stage right; false: there is nothing to put
// right. `token` is the stage's first once it is moved. `next`: where the next stage of the tile
// has landed; the stage itself after the last.
template <u32 kThreads, KernelConfig auto kConfig>
WGRAD_DEVICE bool align_share(const Pipeline<kConfig>& pipeline, u32 stage, u32 next, const Work& w,
                              i32 token, RowMove a, RowMove b, u32 thread) {
  const TokenWindow keep = token_window(w, token);
  if (!a.any() && !b.any() && (uses_loader(kConfig) || keep.is_whole())) return false;
  align_operand<kConfig.a, TileA<kConfig>, u32(kConfig.tile_m), kThreads>(
      pipeline.a(stage), pipeline.a(next), keep, a, thread);
  align_operand<kConfig.b, TileB<kConfig>, b_stage_rows<kConfig>(), kThreads>(
      pipeline.b(stage), pipeline.b(next), keep, b, thread);
  arch::fence_async_shared();
  return true;
}

}  // namespace wgrad::device
