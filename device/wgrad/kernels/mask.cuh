// Foreign tokens in a stage: zeroed in shared memory by the math warpgroups before wgmma reads it.
// A K-major box starts at a multiple of 8 or 64 tokens and runs past the expert's end; an MN-major
// box beside it may start early too. Both operands must be clean, since 0 x Inf is NaN.
#pragma once

#include "wgrad/kernels/work.cuh"
#include "wgrad/prim/pipeline.cuh"
#include "wgrad/prim/tile.cuh"

namespace wgrad::device {

// Tokens of a stage that belong to the expert: [low, high) of [0, 64).
struct TokenWindow {
  i32 low;
  i32 high;
};

WGRAD_DEVICE TokenWindow token_window(const Work& w, i32 token) {
  return {max_of(w.tokens.begin - token, 0), min_of(w.tokens.end - token, kTileK)};
}

// Two 16-bit tokens [at, at + 1] of a word.
WGRAD_DEVICE u32 mask_word(u32 word, TokenWindow keep, i32 at) {
  const u32 low = at >= keep.low && at < keep.high ? 0x0000ffffu : 0;
  const u32 high = at + 1 >= keep.low && at + 1 < keep.high ? 0xffff0000u : 0;
  return word & (low | high);
}

WGRAD_DEVICE void mask_chunk(u32 address, TokenWindow keep, i32 at) {
  if (at >= keep.low && at + kTokenAlignment <= keep.high) return;
  arch::Chunk c{};
  if (at < keep.high && at + kTokenAlignment > keep.low) {
    c = arch::load_shared(address);
#pragma unroll
    for (i32 i = 0; i < 4; ++i) c.word[i] = mask_word(c.word[i], keep, at + 2 * i);
  }
  arch::store_shared(address, c);
}

// Thread `thread` of kThreads cleans its share of one operand's tile.
template <typename Tile, u32 kRows, u32 kThreads>
WGRAD_DEVICE void mask_operand(u32 tile, TokenWindow keep, u32 thread) {
  if constexpr (Tile::kMnMajor) {  // only its head can be foreign: the tail is zero already
    const u32 chunks = (kRows / 64) * u32(keep.low) * 8;
    for (u32 i = thread; i < chunks; i += kThreads) {
      const u32 box = i / 8 / u32(keep.low), token = i / 8 % u32(keep.low);
      arch::store_shared(tile + Tile::token_row(box, token) + i % 8 * 16, arch::Chunk{});
    }
  } else {
    for (u32 row = thread; row < kRows; row += kThreads) {
#pragma unroll
      for (u32 chunk = 0; chunk < 8; ++chunk) {
        mask_chunk(swizzled(tile, row, chunk), keep, i32(chunk) * kTokenAlignment);
      }
    }
  }
}

// All threads that read the stage: `thread` of them, meeting at named barrier `barrier`. `token` is
// the stage's first.
template <Config kConfig>
WGRAD_DEVICE void mask_stage(const Pipeline<kConfig>& pipeline, u32 stage, const Work& w, i32 token,
                             u32 thread, u32 barrier) {
  constexpr u32 kThreads = u32(warpgroups_per_tile(kConfig)) * kWarpgroupThreads;
  const TokenWindow keep = token_window(w, token);
  if (keep.low == 0 && keep.high == kTileK) return;
  mask_operand<TileA<kConfig>, u32(kConfig.tile_m), kThreads>(pipeline.a(stage), keep, thread);
  mask_operand<TileB<kConfig>, u32(kConfig.tile_n), kThreads>(pipeline.b(stage), keep, thread);
  arch::fence_async_shared();
  arch::named_sync(barrier, kThreads);
}

}  // namespace wgrad::device
