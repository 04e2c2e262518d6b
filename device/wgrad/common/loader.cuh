// K-major operands in ragged order: no tensor map can describe every k_e, so the producer warpgroup
// copies them in units of 16 bytes, several stages in flight, into the layout that the copy engine
// would write. A row comes from the unit that it starts in (ragged.cuh).
#pragma once

#include "wgrad/common/pipeline.cuh"
#include "wgrad/common/ragged.cuh"
#include "wgrad/common/threads.cuh"
#include "wgrad/common/tile.cuh"
#include "wgrad/common/work.cuh"

namespace wgrad::device {

// One thread of a warpgroup, 8 threads a row: its units of rows [row, row + kRows), from the k-th
// token on. Nothing is read past the end of a row: zeros take its place. kBits: of an element.
template <u32 kRows, i32 kBits>
WGRAD_DEVICE void copy_ragged(u32 tile, u64 operand, const RaggedBlock& block, LoaderThread thread,
                              i32 row, i32 k) {
  constexpr u32 kRowsAtOnce = kWarpgroupThreads / 8;
  constexpr u32 kBytes = kBits / 8;
  constexpr i32 kUnit = unit_tokens(kBits);
  const u32 chunk = u32(thread) % 8;
  const i32 token = k + i32(chunk) * kUnit;
#pragma unroll 1  // the copies wait for nothing, and 56 registers hold no more
  for (u32 r = u32(thread) / 8; r < kRows; r += kRowsAtOnce) {
    const u64 start = block.row_start(row + i32(r));
    const i32 lead = i32(start % u64(kUnit));
    const i32 left = row + i32(r) < block.extent ? block.length - token + lead : 0;
    const u32 count = u32(min_of(max_of(left, 0), kUnit));
    const u64 unit = count > 0 ? operand + (start - u64(lead) + u64(token)) * u64{kBytes} : operand;
    arch::copy_async(swizzled(tile, r, chunk), unit, count * kBytes);
  }
}

// The ragged operands of stage after stage. A thread hands a stage over once its copies are there:
// when later ones are on their way, or before it waits for anything.
template <KernelConfig auto kConfig>
struct Loader {
  static constexpr u32 kInFlight = u32(min_of(kConfig.stages - 1, 3));  // stages

  const Cta<kConfig>& cta;
  Pipeline<kConfig> pipeline;
  LoaderThread thread{};
  StageCursor<kConfig> oldest{};
  u32 in_flight = 0;

  WGRAD_DEVICE void copy(u32 stage, const Work& w, i32 token) {
    const KernelParams& p = cta.params;
    const i32 k = token - w.tokens.begin;
    if constexpr (kConfig.a == OperandLayout::kKMajorRagged) {
      copy_ragged<u32(kConfig.tile_m), bits_of(kConfig.input)>(
          pipeline.a(stage), p.a, RaggedBlock(p.m, w.tokens), thread, w.m0, k);
    }
    if constexpr (kConfig.b == OperandLayout::kKMajorRagged) {
      copy_ragged<b_stage_rows<kConfig>(), bits_of(kConfig.input)>(
          pipeline.b(stage), p.b, RaggedBlock(p.n, w.tokens), thread, first_b_row(cta, w), k);
    }
    arch::commit_copies();
    ++in_flight;
    if (in_flight > kInFlight) hand_over<kInFlight>();
  }

  // Every stage but the last kLeft.
  template <u32 kLeft>
  WGRAD_DEVICE void hand_over() {
    if (in_flight <= kLeft) return;
    arch::wait_copies<kLeft>();
    arch::fence_async_shared();
    for (; in_flight > kLeft; --in_flight, oldest.advance())
      arch::barrier_arrive(pipeline.full(oldest.slot));
  }

  // All lanes, before they wait for `barrier`: whoever is to complete it may need the stages in
  // flight.
  WGRAD_DEVICE void hand_over_before(u32 barrier, u32 parity) {
    if (arch::warp_uniform(arch::barrier_test(barrier, parity) ? 1 : 0) == 0) hand_over<0>();
  }
};

}  // namespace wgrad::device
