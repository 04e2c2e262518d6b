// Stages with a K-major operand, put right in shared memory before tensor cores read them. A
// tensor2d box starts at a multiple of 8 or 64 tokens and runs past the expert's end; an MN-major
// box beside it may start early too. A ragged row starts with the 16 bytes that hold its first
// token (ragged.cuh).
//   Windows: the 32 bytes of tokens that one MMA sums at once count from the expert's first token,
//   or its last bits would follow the other experts' counts. A K-major row moves up to 31 bytes to
//   the left; the next stage's row, which has landed but not moved yet, fills its end. Foreign
//   tokens: zero in both operands, since 0 x Inf is NaN.
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
  u32 pitch;  // ragged: more for each row, modulo the tokens of 16 bytes

  WGRAD_DEVICE bool any() const { return (first | pitch) != 0; }
  template <i32 kBits>
  WGRAD_DEVICE u32 of(u32 row) const {
    return (first + row * pitch) % u32(unit_tokens(kBits));
  }
};

// `extent`: M or N. A tile's first row is a multiple of 8.
template <OperandLayout kLayout, i32 kBits>
WGRAD_DEVICE RowMove row_move(TokenRange tokens, i32 extent, u32 shift) {
  if constexpr (kLayout == OperandLayout::kKMajor) return {shift, 0};
  if constexpr (kLayout == OperandLayout::kKMajorRagged) {
    constexpr u32 kUnit = u32(unit_tokens(kBits));
    const RaggedBlock block(extent, tokens);
    return {u32(block.first) % kUnit, u32(block.length) % kUnit};
  }
  return {0, 0};
}

// Tokens of a stage that belong to the expert: [low, high) of a row's 128 bytes.
template <i32 kBits>
struct TokenWindow {
  static constexpr i32 kUnit = unit_tokens(kBits), kRow = row_tokens(kBits);

  i32 low;
  i32 high;

  WGRAD_DEVICE bool is_whole() const { return low == 0 && high == kRow; }
  WGRAD_DEVICE bool has_all(i32 at) const { return at >= low && at + kUnit <= high; }
  WGRAD_DEVICE bool has_some(i32 at) const { return at < high && at + kUnit > low; }
};

// `token`: the stage's first, once it is moved.
template <i32 kBits>
WGRAD_DEVICE TokenWindow<kBits> token_window(const Work& w, i32 token) {
  return {max_of(w.tokens.begin - token, 0), min_of(w.tokens.end - token, row_tokens(kBits))};
}

// A word's tokens, from `at` on.
template <i32 kBits>
WGRAD_DEVICE u32 mask_word(u32 word, TokenWindow<kBits> keep, i32 at) {
  constexpr u32 kFirst = kBits == 16 ? 0x0000ffffu : 0x000000ffu;
  u32 kept = 0;
#pragma unroll
  for (i32 i = 0; i < 32 / kBits; ++i)
    kept |= at + i >= keep.low && at + i < keep.high ? kFirst << (i * kBits) : 0;
  return word & kept;
}
template <i32 kBits>
WGRAD_DEVICE void mask_words(arch::Chunk& c, TokenWindow<kBits> keep, i32 at) {
#pragma unroll
  for (i32 i = 0; i < 4; ++i) c.word[i] = mask_word(c.word[i], keep, at + 32 / kBits * i);
}

template <i32 kBits>
WGRAD_DEVICE void mask_chunk(u32 address, TokenWindow<kBits> keep, i32 at) {
  if (keep.has_all(at)) return;
  arch::Chunk c{};
  if (keep.has_some(at)) {
    c = arch::load_shared(address);
    mask_words(c, keep, at);
  }
  arch::store_shared(address, c);
}

// Moves that bring together the tokens of 16 bytes which lie in two neighbouring units. kWords
// whole words, the same for every row: the compiler leaves a shift for each word.
template <u32 kWords>
struct WordMove {
  u32 bits;  // less than 32

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
struct ByteMove {
  u32 bytes;  // less than 16

  WGRAD_DEVICE arch::Chunk operator()(arch::Chunk low, const arch::Chunk& high) const {
    u32 word[6];
#pragma unroll
    for (u32 i = 0; i < 6; ++i) {
      const u32 near = i < 4 ? low.word[i] : high.word[i - 4];
      word[i] = bytes & 8 ? (i < 2 ? low.word[i + 2] : high.word[i - 2]) : near;
    }
#pragma unroll
    for (u32 i = 0; i < 5; ++i) word[i] = bytes & 4 ? word[i + 1] : word[i];
    arch::Chunk c{};
#pragma unroll
    for (u32 i = 0; i < 4; ++i)
      c.word[i] = u32((u64{word[i + 1]} << 32 | word[i]) >> (bytes % 4 * 8));
    return c;
  }
};

// One thread: a row moves to the left, by `units` of 16 bytes and what `move` says. `next`: the
// tile of the next stage, of which the same thread will move this row later; after the last stage
// any tile that has landed, since what would come from there is foreign.
template <i32 kBits, typename Move>
WGRAD_DEVICE void move_row(u32 tile, u32 next, u32 row, TokenWindow<kBits> keep, u32 units,
                           Move move) {
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
      const i32 at = i32(from + i) * unit_tokens(kBits);
      arch::Chunk moved = move(c[i], c[i + 1]);
      if (!keep.has_all(at)) mask_words(moved, keep, at);
      arch::store_shared(swizzled(tile, row, from + i), moved);
    }
    c[0] = c[kChunksAtOnce];
  }
}

// Rows `thread`, `thread` + kThreads, ... of a tile, all by `shift` tokens, less than a window.
template <u32 kRows, u32 kThreads, u32 kWords = 0, i32 kBits>
WGRAD_DEVICE void move_rows(u32 tile, u32 next, TokenWindow<kBits> keep, u32 shift, u32 thread) {
  constexpr u32 kUnit = u32(unit_tokens(kBits)), kOfWord = u32(32 / kBits);
  const u32 units = shift / kUnit;
  if constexpr (kWords < 3) {
    if (shift % kUnit / kOfWord != kWords)
      return move_rows<kRows, kThreads, kWords + 1>(tile, next, keep, shift, thread);
  }
  for (u32 row = thread; row < kRows; row += kThreads)
    move_row(tile, next, row, keep, units, WordMove<kWords>{shift % kOfWord * u32(kBits)});
}

// Thread `thread` of kThreads puts its share of one operand's tile right.
template <OperandLayout kLayout, typename Tile, u32 kRows, u32 kThreads, i32 kBits>
WGRAD_DEVICE void align_operand(u32 tile, u32 next, TokenWindow<kBits> keep, RowMove move,
                                u32 thread) {
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
        move_row(tile, next, row, keep, 0, ByteMove{move.template of<kBits>(row) * u32(kBits) / 8});
    }
  } else if constexpr (kLayout == OperandLayout::kKMajor) {  // zeros follow a ragged row's end
    for (u32 row = thread; row < kRows; row += kThreads) {
#pragma unroll
      for (u32 chunk = 0; chunk < kRowChunks; ++chunk) {
        mask_chunk(swizzled(tile, row, chunk), keep, i32(chunk) * unit_tokens(kBits));
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
  const auto keep = token_window<bits_of(kConfig.input)>(w, token);
  if (!a.any() && !b.any() && (uses_loader(kConfig) || keep.is_whole())) return false;
  align_operand<kConfig.a, TileA<kConfig>, u32(kConfig.tile_m), kThreads>(
      pipeline.a(stage), pipeline.a(next), keep, a, thread);
  align_operand<kConfig.b, TileB<kConfig>, b_stage_rows<kConfig>(), kThreads>(
      pipeline.b(stage), pipeline.b(next), keep, b, thread);
  arch::fence_async_shared();
  return true;
}

}  // namespace wgrad::device
