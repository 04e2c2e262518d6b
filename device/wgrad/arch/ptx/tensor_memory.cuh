// Tensor memory: 128 lanes by 512 columns of 32 bits for each CTA. An address is lane << 16 |
// column. PTX ISA, 9.7.16.1, 9.7.16.7 ("tcgen05.alloc, dealloc, relinquish_alloc_permit"),
// 9.7.16.8.5 ("tcgen05.wait"). kCtas is cta_group: 1, or 2 for the two CTAs of a pair (ranks 2i and
// 2i + 1 of the cluster); a kernel uses one of the two throughout.
#pragma once

namespace wgrad::device::arch {

// All by one whole warp, converged. `columns`: 32, 64, 128, 256, 512. Waits until they are free and
// writes their first address, lane 0, to shared memory at `slot`, as an ordinary store: a barrier
// of the threads must follow before it is read. kCtas 2: both CTAs do it, with the same slot; both
// must run already (cluster_sync() before), and get the same address.
template <u32 kCtas>
WGRAD_DEVICE void tensor_memory_alloc(u32 slot, u32 columns) {
  static_assert(kCtas == 1 || kCtas == 2);
  if constexpr (kCtas == 1) {
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot),
                 "r"(columns)
                 : "memory");
  } else {
    asm volatile("tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(slot),
                 "r"(columns)
                 : "memory");
  }
}

// This CTA (pair) allocates no more: others on the SM may.
template <u32 kCtas>
WGRAD_DEVICE void tensor_memory_relinquish() {
  static_assert(kCtas == 1 || kCtas == 2);
  if constexpr (kCtas == 1) {
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;" ::: "memory");
  } else {
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;" ::: "memory");
  }
}

// Before the CTA ends, once every access is complete; `address` and `columns` as allocated. kCtas
// 2: both CTAs, each once both have told the other that they are done.
template <u32 kCtas>
WGRAD_DEVICE void tensor_memory_free(u32 address, u32 columns) {
  static_assert(kCtas == 1 || kCtas == 2);
  if constexpr (kCtas == 1) {
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(address),
                 "r"(columns)
                 : "memory");
  } else {
    asm volatile("tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, %1;" ::"r"(address),
                 "r"(columns)
                 : "memory");
  }
}

// Registers written by a load must not be touched before this, nor registers read by a store be
// relied on in tensor memory: until all earlier loads (stores) of this thread are complete. Whole
// warp, converged.
WGRAD_DEVICE void tensor_memory_wait_loads() {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
}
WGRAD_DEVICE void tensor_memory_wait_stores() {
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
}

// Pins loaded registers here, after the wait: the compiler may move no use of them before it.
template <u32 kCount>
WGRAD_DEVICE void tensor_memory_pin(float (&values)[kCount]) {
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) asm volatile("" : "+f"(values[i])::"memory");
}

}  // namespace wgrad::device::arch
