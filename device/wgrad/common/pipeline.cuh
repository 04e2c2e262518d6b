// The operand pipeline: stages that the producer fills and the math warpgroups drain, a counted
// protocol.
//
//   full[s]: completes when a stage's bytes have landed. One arrival of the thread that drives the
//   copy engine, one of each thread that copies.
//
//   empty[s]: completes when no one reads the stage any more. One arrival of each math warp of
//   every CTA it was sent to.
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::device {

// Position in a ring of kCount slots, and the parity of the phase that is filled or drained there.
template <u32 kCount>
struct RingCursor {
  u32 slot = 0;
  u32 parity = 0;

  WGRAD_DEVICE void advance() {
    if (++slot == kCount) {
      slot = 0;
      parity ^= 1;
    }
  }

  // As `count` calls of advance.
  WGRAD_DEVICE void skip(u32 count) {
    const u32 position = slot + count;
    parity ^= position / kCount & 1;
    slot = position % kCount;
  }
};

template <KernelConfig auto kConfig>
using StageCursor = RingCursor<static_cast<u32>(kConfig.stages)>;

template <KernelConfig auto kConfig>
struct Pipeline {
  static constexpr auto kSmem = smem_layout(kConfig);
  static constexpr u32 kReaders =
      uses_multicast(kConfig) ? 2 : 1;  // CTAs that read a stage's multicast part
  static constexpr u32 kFullArrivals =
      (uses_tma(kConfig) ? 1 : 0) + (uses_loader(kConfig) ? u32{kWarpgroupThreads} : 0);
  static constexpr u32 kEmptyArrivals =
      u32(warpgroups_per_tile(kConfig)) * (kWarpgroupThreads / 32) * kReaders;

  u32 base;  // start of dynamic shared memory

  WGRAD_DEVICE u32 full(u32 stage) const { return base + kSmem.full + stage * kBarrierBytes; }
  WGRAD_DEVICE u32 empty(u32 stage) const { return base + kSmem.empty + stage * kBarrierBytes; }
  WGRAD_DEVICE u32 a(u32 stage) const { return base + kSmem.a + stage * a_stage_bytes(kConfig); }
  WGRAD_DEVICE u32 b(u32 stage) const { return base + kSmem.b + stage * b_stage_bytes(kConfig); }

  // One thread, before any other use.
  WGRAD_DEVICE void init() const {
    for (u32 s = 0; s < u32(kConfig.stages); ++s) {
      arch::barrier_init(full(s), kFullArrivals);
      arch::barrier_init(empty(s), kEmptyArrivals);
    }
  }

  WGRAD_DEVICE void wait_empty(const StageCursor<kConfig>& at) const {
    arch::barrier_wait(empty(at.slot), at.parity ^ 1);  // the first pass finds every stage empty
  }
  WGRAD_DEVICE void wait_full(const StageCursor<kConfig>& at) const {
    arch::barrier_wait(full(at.slot), at.parity);
  }

  // By every math warp, once its reads of the stage are complete.
  WGRAD_DEVICE void release(u32 stage) const {
    const u32 lane = arch::lane_index();
    if constexpr (kReaders == 1) {
      if (lane == 0) arch::barrier_arrive(empty(stage));
    } else {
      if (lane < kReaders) arch::barrier_arrive_cluster(arch::map_to_rank(empty(stage), lane));
    }
  }
};

// Pingpong: the warpgroups run their main loops in turn. Not only for speed: a parity tells a phase
// from its neighbours alone, so nobody may wait for a stage two phases ahead of the one that is
// being filled.
template <KernelConfig auto kConfig>
struct Turns {
  u32 base;  // start of dynamic shared memory

  WGRAD_DEVICE u32 turn(u32 warpgroup) const {
    return base + smem_layout(kConfig).turn + warpgroup * kBarrierBytes;
  }
  WGRAD_DEVICE void init() const {
    for (u32 w = 0; w < 2; ++w) arch::barrier_init(turn(w), kWarpgroupThreads / 32);
  }
  // `tile`: how many tiles this warpgroup has had before. Warpgroup 0 begins.
  WGRAD_DEVICE void wait(u32 warpgroup, u32 tile) const {
    arch::barrier_wait(turn(warpgroup), (warpgroup == 0 ? tile + 1 : tile) % 2);
  }
  // For all lanes: one that still waits for this turn would miss it, and wait for ever, if the
  // other warpgroup passed it back meanwhile. An empty tile has no wgmma to bring them together.
  WGRAD_DEVICE void pass_on(u32 warpgroup) const {
    arch::warp_sync();
    if (arch::lane_index() == 0) arch::barrier_arrive(turn(warpgroup ^ 1));
  }
};

}  // namespace wgrad::device
