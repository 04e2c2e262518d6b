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
  static constexpr auto kSmem = smem_layout(kConfig);
  static constexpr u32 kCtas = u32(cluster_ctas(kConfig));

  u32 base = 0;  // start of dynamic shared memory
  RingCursor<kClaimSlotsAhead> at{};

  WGRAD_DEVICE u32 number(u32 slot) const { return base + kSmem.claims + slot * kClaimBytes; }
  WGRAD_DEVICE u32 told(u32 slot) const { return base + kSmem.claim_told + slot * kBarrierBytes; }
  WGRAD_DEVICE u32 heard(u32 slot) const { return base + kSmem.claim_heard + slot * kBarrierBytes; }

  // One thread, before any other use.
  WGRAD_DEVICE void init() const {
    if constexpr (claims_together(kConfig)) {
      for (u32 s = 0; s < kClaimSlotsAhead; ++s) {
        arch::barrier_init(told(s), 1);
        arch::barrier_init(heard(s), kCtas);
      }
    }
  }

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
