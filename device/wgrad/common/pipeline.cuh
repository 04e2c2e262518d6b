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
#include "wgrad/shared/kernel_config.hpp"
#include "wgrad/shared/smem_table.hpp"

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
  static constexpr Place kA = place_of(kConfig, "a stage"), kB = place_of(kConfig, "b stage");
  static constexpr Place kFull = place_of(kConfig, "full"), kEmpty = place_of(kConfig, "empty");
  static constexpr u32 kReaders = stage_readers(kConfig);

  u32 base;  // start of dynamic shared memory

  WGRAD_DEVICE u32 full(u32 stage) const { return base + kFull.at + stage * kBarrierBytes; }
  WGRAD_DEVICE u32 empty(u32 stage) const { return base + kEmpty.at + stage * kBarrierBytes; }
  WGRAD_DEVICE u32 a(u32 stage) const { return base + kA.at + stage * kA.bytes; }
  WGRAD_DEVICE u32 b(u32 stage) const { return base + kB.at + stage * kB.bytes; }

  WGRAD_DEVICE void wait_empty(const StageCursor<kConfig>& at) const {
    arch::barrier_wait(empty(at.slot), at.parity ^ 1);  // the first pass finds every stage empty
  }
  // Every stage, whoever waited for the ones before `at`.
  WGRAD_DEVICE void wait_all_empty(StageCursor<kConfig>& at) const {
    for (i32 stage = 0; stage < kConfig.stages; ++stage, at.advance()) wait_empty(at);
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

}  // namespace wgrad::device
