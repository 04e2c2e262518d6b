// Thread block clusters. PTX: "barrier.cluster", "mapa", "st" with .shared::cluster, cluster
// special registers.
#pragma once

#include "wgrad/arch/ptx/memory.cuh"

namespace wgrad::device::arch {

WGRAD_DEVICE u32 cluster_rank() {
  u32 rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// All threads of all CTAs of the cluster; shared memory writes before it are seen after it.
WGRAD_DEVICE void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}

// The shared::cluster address of the same variable in another CTA of the cluster.
WGRAD_DEVICE u32 map_to_rank(u32 shared_address, u32 rank) {
  u32 mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(mapped)
               : "r"(shared_address), "r"(rank));
  return mapped;
}

// To the shared memory of another CTA of the cluster: `mapped_address` comes from map_to_rank, a
// multiple of 16. The other CTA must be running, and reads the bytes once it has met this thread
// in cluster_sync(), or waited with barrier_wait_acquire_cluster() for its
// barrier_arrive_release_cluster().
WGRAD_DEVICE void store_shared_cluster(u32 mapped_address, const Quad& q) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(mapped_address),
               "f"(q.value[0]), "f"(q.value[1]), "f"(q.value[2]), "f"(q.value[3])
               : "memory");
}

// The same of a word, on a multiple of 4.
WGRAD_DEVICE void store_shared_cluster_u32(u32 mapped_address, u32 value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(mapped_address), "r"(value) : "memory");
}

}  // namespace wgrad::device::arch
