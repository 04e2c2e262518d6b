// Arrivals of a whole warp at an mbarrier, once all its lanes have done what they had to.
//
// __syncwarp puts what the lanes did before the arrival of one of them. racecheck does not follow
// it: for its sake a kernel compiled with WGRAD_LANES_ARRIVE has an arrival of every lane
// (docs/notes/2026-12-01-racecheck-and-arrivals-of-a-warp.md).
#pragma once

#include "wgrad/arch/arch.cuh"

namespace wgrad::device {

WGRAD_DEVICE void arrive_together(u32 barrier) {
  arch::warp_sync();
#ifdef WGRAD_LANES_ARRIVE
  arch::barrier_arrive(barrier, 1);
#else
  if (arch::lane_index() == 0) arch::barrier_arrive(barrier);
#endif
}

// At the same barrier of each other CTA of a cluster of `ctas`, of which this one has rank `rank`.
// Releases at cluster scope. Each CTA hears of it from a lane of its own: an arrival of every lane
// took most of an exchange's time (docs/notes/2026-12-01-arrivals-of-a-warp.md).
WGRAD_DEVICE void arrive_together_at_the_others(u32 barrier, u32 ctas, u32 rank) {
  arch::warp_sync();
#ifdef WGRAD_LANES_ARRIVE
  for (u32 cta = 0; cta < ctas; ++cta) {
    if (cta != rank) arch::barrier_arrive_release_cluster(arch::map_to_rank(barrier, cta), 1);
  }
#else
  const u32 lane = arch::lane_index();
  if (lane < ctas && lane != rank)
    arch::barrier_arrive_release_cluster(arch::map_to_rank(barrier, lane));
#endif
}

}  // namespace wgrad::device
