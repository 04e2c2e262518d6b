// K-major operands in ragged order: expert blocks (rows, k_e) of row pitch k_e, which no tensor map
// can describe for every k_e. The producer warpgroup reads them with ordinary loads and writes the
// layout that the copy engine would.
#pragma once

#include "wgrad/kernels/work.cuh"
#include "wgrad/prim/pipeline.cuh"
#include "wgrad/prim/tile.cuh"

namespace wgrad::device {

// One expert's block of one operand.
struct RaggedBlock {
  u64 address;  // of its element (0, 0)
  i32 extent;   // rows in the matrix: M or N
  i32 length;   // k_e: row pitch and number of tokens
  bool wide;    // every group of 8 tokens is 16-byte aligned
};

WGRAD_DEVICE RaggedBlock ragged_block(u64 base, i32 extent, TokenRange tokens) {
  const i32 length = tokens.end - tokens.begin;
  const u64 address = base + u64(extent) * u64(tokens.begin) * kInputBytes;
  return {address, extent, length, address % 16 == 0 && length % kTokenAlignment == 0};
}

// 8 tokens of one row from token `k` on; zeros outside the block.
WGRAD_DEVICE arch::Chunk load_tokens(const RaggedBlock& block, i32 row, i32 k) {
  arch::Chunk c{};
  const i32 count = row < block.extent ? min_of(block.length - k, kTokenAlignment) : 0;
  const u64 address = block.address + (u64(row) * u64(block.length) + u64(k)) * kInputBytes;
  if (block.wide) {
    if (count > 0) c = arch::load_global(address);
    return c;
  }
#pragma unroll
  for (i32 i = 0; i < kTokenAlignment; ++i) {
    if (i < count)
      c.word[i / 2] |= arch::load_global_u16(address + u64(i) * kInputBytes) << (i % 2 * 16);
  }
  return c;
}

// Rows [row, row + kRows) of tokens [k, k + 64), by a warpgroup: 8 threads a row.
template <u32 kRows>
WGRAD_DEVICE void load_ragged(u32 tile, const RaggedBlock& block, u32 thread, i32 row, i32 k) {
  constexpr u32 kRowsAtOnce = kWarpgroupThreads / 8;
  constexpr u32 kBatch = 4;  // loads in flight
  const u32 chunk = thread % 8, first = thread / 8;
  for (u32 r = first; r < kRows; r += kRowsAtOnce * kBatch) {
    arch::Chunk c[kBatch];
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i) {
      c[i] = load_tokens(block, row + i32(r + i * kRowsAtOnce), k + i32(chunk) * kTokenAlignment);
    }
#pragma unroll
    for (u32 i = 0; i < kBatch; ++i)
      arch::store_shared(swizzled(tile, r + i * kRowsAtOnce, chunk), c[i]);
  }
}

// All 128 threads: the ragged operands of one stage, and each thread's arrival at its full barrier.
template <Config kConfig>
WGRAD_DEVICE void load_ragged_stage(const Cta<kConfig>& cta, const Pipeline<kConfig>& pipeline,
                                    u32 stage, u32 thread, const Work& w, i32 token) {
  const KernelParams& p = cta.params;
  const i32 k = token - w.tokens.begin;
  if constexpr (kConfig.a == OperandLayout::kKMajorRagged) {
    load_ragged<u32(kConfig.tile_m)>(pipeline.a(stage), ragged_block(p.a, p.m, w.tokens), thread,
                                     w.m0, k);
  }
  if constexpr (kConfig.b == OperandLayout::kKMajorRagged) {
    load_ragged<u32(kConfig.tile_n)>(pipeline.b(stage), ragged_block(p.b, p.n, w.tokens), thread,
                                     w.n0, k);
  }
  arch::fence_async_shared();
  arch::barrier_arrive(pipeline.full(stage));
}

}  // namespace wgrad::device
