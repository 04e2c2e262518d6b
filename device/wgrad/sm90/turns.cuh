// Whose main loop it is.
//
//   turn[w]: completes when warpgroup w may run its main loop. One arrival of each warp of the
//   other.
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/common/threads.cuh"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::device {

// Pingpong: the warpgroups run their main loops in turn. Not only for speed: a parity tells a phase
// from its neighbours alone, so nobody may wait for a stage two phases ahead of the one that is
// being filled.
template <Config kConfig>
struct Turns {
  static constexpr Place kTurn = place_of(kConfig, "turn");

  u32 base;  // start of dynamic shared memory

  WGRAD_DEVICE u32 turn(MathWarpgroup warpgroup) const {
    return base + kTurn.at + u32(warpgroup) * kBarrierBytes;
  }
  // `tile`: how many tiles this warpgroup has had before. Warpgroup 0 begins.
  WGRAD_DEVICE void wait(MathWarpgroup warpgroup, u32 tile) const {
    arch::barrier_wait(turn(warpgroup), (u32(warpgroup) == 0 ? tile + 1 : tile) % 2);
  }
  // For all lanes: one that still waits for this turn would miss it, and wait for ever, if the
  // other warpgroup passed it back meanwhile. An empty tile has no wgmma to bring them together.
  WGRAD_DEVICE void pass_on(MathWarpgroup warpgroup) const {
    arch::warp_sync();
    if (arch::lane_index() == 0) arch::barrier_arrive(turn(MathWarpgroup{u32(warpgroup) ^ 1}));
  }
};

}  // namespace wgrad::device
