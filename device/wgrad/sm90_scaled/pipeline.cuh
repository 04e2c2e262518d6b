// A stage's life where operands are decoded: raw (codes and scale factors, brought by the copy
// engine and by copier warps) -> decoded (16-bit, brought by the converters) ->
// multiplied. Raw and decoded stages are rings of their own, each with a pair of barriers.
//
//   raw_full[s]: codes and scale factors have landed. One arrival of the thread that drives the
//   copy engine, one of each copier warp.
//
//   raw_empty[s]: nobody reads them any more. One arrival of each converter warp, and of each math
//   warp that decodes A.
//
//   full[s]: a decoded stage is written and fenced. One arrival of each converter warp.
//
//   empty[s]: it is multiplied. One arrival of each math warp.
#pragma once

#include "wgrad/common/pipeline.cuh"
#include "wgrad/sm90_scaled/smem.hpp"

namespace wgrad::device {

// Where a row's first four scale columns lie among kAtoms atoms of each 128 rows; four more in each
// atom after it.
template <u32 kAtoms>
WGRAD_DEVICE u32 scale_offset(u32 row) {
  return row / kScaleAtomRows * (kAtoms * kScaleAtomBytes) + row % 32 * 16 + row / 32 % 4 * 4;
}

template <KernelConfig auto kConfig>
using RawCursor = RingCursor<static_cast<u32>(kConfig.raw_stages)>;

template <KernelConfig auto kConfig>
struct ScaledPipeline {
  static constexpr ScaledSmemLayout kSmem = smem_layout(kConfig);

  u32 base;  // start of dynamic shared memory

  WGRAD_DEVICE u32 raw_full(u32 stage) const {
    return base + kSmem.raw_full + stage * kBarrierBytes;
  }
  WGRAD_DEVICE u32 raw_empty(u32 stage) const {
    return base + kSmem.raw_empty + stage * kBarrierBytes;
  }
  WGRAD_DEVICE u32 full(u32 stage) const { return base + kSmem.full + stage * kBarrierBytes; }
  WGRAD_DEVICE u32 empty(u32 stage) const { return base + kSmem.empty + stage * kBarrierBytes; }
  WGRAD_DEVICE u32 raw_a(u32 stage) const {
    return base + kSmem.raw_a + stage * u32(raw_a_bytes(kConfig));
  }
  WGRAD_DEVICE u32 raw_b(u32 stage) const {
    return base + kSmem.raw_b + stage * u32(raw_b_bytes(kConfig));
  }
  WGRAD_DEVICE u32 scales_a(u32 stage) const {
    return base + kSmem.scales_a + stage * scale_bytes_a(kConfig);
  }
  WGRAD_DEVICE u32 scales_b(u32 stage) const {
    return base + kSmem.scales_b + stage * scale_bytes_b(kConfig);
  }
  WGRAD_DEVICE u32 a(u32 stage) const {
    return base + kSmem.a + (kConfig.registers_a ? 0 : stage * a_stage_bytes(kConfig));
  }
  WGRAD_DEVICE u32 b(u32 stage) const { return base + kSmem.b + stage * b_stage_bytes(kConfig); }
  WGRAD_DEVICE u32 flags(u32 stage) const { return base + kSmem.flags + stage * kFlagBytes; }

  // One thread, before any other use.
  WGRAD_DEVICE void init() const {
    for (u32 s = 0; s < u32(kConfig.raw_stages); ++s) {
      arch::barrier_init(raw_full(s), u32(1 + copier_warps(kConfig)));
      arch::barrier_init(raw_empty(s), u32(raw_readers(kConfig)));
    }
    for (u32 s = 0; s < u32(kConfig.stages); ++s) {
      arch::barrier_init(full(s), u32(converter_warps(kConfig)));
      arch::barrier_init(empty(s), u32(math_warps(kConfig)));
    }
  }

  // The first pass finds every stage empty.
  WGRAD_DEVICE void wait_raw_empty(const RawCursor<kConfig>& at) const {
    arch::barrier_wait(raw_empty(at.slot), at.parity ^ 1);
  }
  WGRAD_DEVICE void wait_raw_full(const RawCursor<kConfig>& at) const {
    arch::barrier_wait(raw_full(at.slot), at.parity);
  }
  WGRAD_DEVICE void wait_empty(const StageCursor<kConfig>& at) const {
    arch::barrier_wait(empty(at.slot), at.parity ^ 1);
  }
  WGRAD_DEVICE void wait_full(const StageCursor<kConfig>& at) const {
    arch::barrier_wait(full(at.slot), at.parity);
  }

  // A whole warp, once all its lanes have done what they had to.
  WGRAD_DEVICE void arrive_together(u32 barrier) const {
    arch::warp_sync();
    if (arch::lane_index() == 0) arch::barrier_arrive(barrier);
  }
};

}  // namespace wgrad::device
