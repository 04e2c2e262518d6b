// mbarriers in shared memory. PTX: "mbarrier.init", "mbarrier.arrive", "mbarrier.try_wait",
// "fence.mbarrier_init".
//
// WGRAD_LANES_ARRIVE: each arrival counts as 32, of which a warp's arrival gives one a lane, for
// racecheck (docs/notes/2026-12-01-racecheck-and-arrivals-of-a-warp.md). SM 9.0 alone.
#pragma once

#ifdef WGRAD_LANES_ARRIVE
#define WGRAD_ARRIVALS ", 32"
#else
#define WGRAD_ARRIVALS ""
#endif

namespace wgrad::device::arch {

WGRAD_DEVICE void barrier_init(u32 barrier, u32 arrivals) {
#ifdef WGRAD_LANES_ARRIVE
  arrivals *= 32;
#endif
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes initialised barriers visible to the cluster and to the copy engine; a barrier of the
// threads must follow.
WGRAD_DEVICE void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

WGRAD_DEVICE void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0]" WGRAD_ARRIVALS ";" ::"r"(barrier)
               : "memory");
}

// One arrival that also announces bytes still to land.
WGRAD_DEVICE void barrier_arrive_expect(u32 barrier, u32 bytes) {
#ifdef WGRAD_LANES_ARRIVE
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 31;" ::"r"(barrier) : "memory");
#endif
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

// `barrier` is an address from map_to_rank, possibly of another CTA. Orders no ordinary memory
// access of the other CTA: a release at cluster scope would be a GPU-wide MEMBAR, and a stage is
// handed back after wgmma reads alone.
WGRAD_DEVICE void barrier_arrive_cluster(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0]" WGRAD_ARRIVALS ";" ::"r"(barrier)
               : "memory");
}

// The same, and what this thread did or knows of in the cluster's shared memory comes before
// whatever follows a barrier_wait_acquire_cluster() for the phase.
WGRAD_DEVICE void barrier_arrive_release_cluster(u32 barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0]" WGRAD_ARRIVALS
               ";" ::"r"(barrier)
               : "memory");
}

#ifdef WGRAD_LANES_ARRIVE
// `arrivals` of the 32 that count as one: 1 is a lane's share of its warp's.
WGRAD_DEVICE void barrier_arrive(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(arrivals)
               : "memory");
}
WGRAD_DEVICE void barrier_arrive_release_cluster(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0], %1;" ::"r"(barrier),
               "r"(arrivals)
               : "memory");
}
#endif

WGRAD_DEVICE bool barrier_try_wait(u32 barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// Whether it has, without waiting for it.
WGRAD_DEVICE bool barrier_test(u32 barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// Until the phase of this parity, to which other CTAs released their stores, has completed.
WGRAD_DEVICE void barrier_wait_acquire_cluster(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (done == 0);
}

// Until the phase of this parity has completed.
WGRAD_DEVICE void barrier_wait(u32 barrier, u32 parity) {
  while (!barrier_try_wait(barrier, parity)) {
  }
}

}  // namespace wgrad::device::arch
