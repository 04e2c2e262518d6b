// Thread block clusters. PTX: "barrier.cluster", "mapa", cluster special registers.
#pragma once

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

}  // namespace wgrad::device::arch
