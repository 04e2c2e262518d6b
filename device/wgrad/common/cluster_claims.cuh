// How the CTAs of a cluster claim a tile together: the scheduler of the first one claims it, and
// tells every scheduler of the cluster, itself too, which it is.
//
//   told: completes when the number is there. One arrival of the first CTA's scheduler.
//
//   heard, in the first CTA: completes when the number is read. One arrival of each scheduler.
#pragma once

#include "wgrad/common/pipeline.cuh"
#include "wgrad/common/work.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
struct ClusterClaims {
  static constexpr bool kAny = claims_together(kConfig);
  static constexpr Place kNumber = kAny ? place_of(kConfig, "claim") : Place{};
  static constexpr Place kTold = kAny ? place_of(kConfig, "claim told") : Place{};
  static constexpr Place kHeard = kAny ? place_of(kConfig, "claim heard") : Place{};
  static constexpr u32 kCtas = u32(cluster_ctas(kConfig));

  u32 base = 0;  // start of dynamic shared memory
  RingCursor<kClaimSlotsAhead> at{};

  WGRAD_DEVICE u32 number(u32 slot) const { return base + kNumber.at + slot * kClaimBytes; }
  WGRAD_DEVICE u32 told(u32 slot) const { return base + kTold.at + slot * kBarrierBytes; }
  WGRAD_DEVICE u32 heard(u32 slot) const { return base + kHeard.at + slot * kBarrierBytes; }

  // The first CTA's scheduler, before it hears the number itself.
  WGRAD_DEVICE void tell(u32 index) const {
    // The first pass finds every slot read.
    arch::barrier_wait_acquire_cluster(heard(at.slot), at.parity ^ 1);
    for (u32 cta = 0; cta < kCtas; ++cta) {
      arch::store_shared_cluster_u32(arch::map_to_rank(number(at.slot), cta), index);
      arch::barrier_arrive_release_cluster(arch::map_to_rank(told(at.slot), cta));
    }
  }

  WGRAD_DEVICE u32 hear() {
    arch::barrier_wait_acquire_cluster(told(at.slot), at.parity);
    const u32 index = arch::load_shared_u32(number(at.slot));
    arch::barrier_arrive_release_cluster(arch::map_to_rank(heard(at.slot), 0));
    at.advance();
    return index;
  }
};

}  // namespace wgrad::device
