// Tensor memory to registers and back. PTX ISA, 9.7.16.2.3 ("Data Movement Shape"), 9.7.16.8
// ("tcgen05.ld, tcgen05.st"). Whole warp, converged, the same address in all lanes. Warp w reaches
// lanes 32 * (w % 4) to + 31 alone, and the address names the first of them. A load's registers are
// there after tensor_memory_wait_loads(), which must cover them while they live.
#pragma once

#include "wgrad/arch/ptx/wgmma_lists.cuh"

namespace wgrad::device::arch {

#define WGRAD_AT_4(c, i) c(v[i]), c(v[i + 1]), c(v[i + 2]), c(v[i + 3])
#define WGRAD_AT_16(c, i) \
  WGRAD_AT_4(c, i), WGRAD_AT_4(c, i + 4), WGRAD_AT_4(c, i + 8), WGRAD_AT_4(c, i + 12)
#define WGRAD_LIST_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define WGRAD_VALUES_16(c) WGRAD_AT_16(c, 0)
#define WGRAD_VALUES_32(c) WGRAD_AT_16(c, 0), WGRAD_AT_16(c, 16)
#define WGRAD_VALUES_64(c) WGRAD_VALUES_32(c), WGRAD_AT_16(c, 32), WGRAD_AT_16(c, 48)
#define WGRAD_VALUES_128(c)                                                       \
  WGRAD_VALUES_64(c), WGRAD_AT_16(c, 64), WGRAD_AT_16(c, 80), WGRAD_AT_16(c, 96), \
      WGRAD_AT_16(c, 112)

// `count` registers; `address` is operand number `count`.
#define WGRAD_TENSOR_MEMORY_LOAD(name, shape, times, count)                               \
  WGRAD_DEVICE void name(float(&v)[count], u32 address) {                                 \
    asm volatile("tcgen05.ld.sync.aligned." shape ".x" #times ".b32 {" WGRAD_LIST_##count \
                 "}, [%" #count "];"                                                      \
                 : WGRAD_VALUES_##count("=f")                                             \
                 : "r"(address)                                                           \
                 : "memory");                                                             \
  }

// Thread t, register k: lane t, column k.
WGRAD_TENSOR_MEMORY_LOAD(tensor_memory_load, "32x32b", 16, 16)
WGRAD_TENSOR_MEMORY_LOAD(tensor_memory_load, "32x32b", 32, 32)
WGRAD_TENSOR_MEMORY_LOAD(tensor_memory_load, "32x32b", 64, 64)
WGRAD_TENSOR_MEMORY_LOAD(tensor_memory_load, "32x32b", 128, 128)

// 16 lanes, from lane 0 or 16 of the warp's on; 8 columns for every 4 registers. Thread t, register
// k: lane t / 4 + 8 * (k / 2 % 2), column 2 * (t % 4) + k % 2 + 8 * (k / 4), as stmatrix takes it.
WGRAD_TENSOR_MEMORY_LOAD(tensor_memory_load_fragments, "16x256b", 8, 32)
WGRAD_TENSOR_MEMORY_LOAD(tensor_memory_load_fragments, "16x256b", 16, 64)
WGRAD_TENSOR_MEMORY_LOAD(tensor_memory_load_fragments, "16x256b", 32, 128)

#undef WGRAD_TENSOR_MEMORY_LOAD

// As tensor_memory_load; complete after tensor_memory_wait_stores().
WGRAD_DEVICE void tensor_memory_store(u32 address, const float (&v)[32]) {
  asm volatile("tcgen05.st.sync.aligned.32x32b.x32.b32 [%32], {" WGRAD_LIST_32
               "};" ::WGRAD_VALUES_32("f"),
               "r"(address)
               : "memory");
}

#undef WGRAD_VALUES_128
#undef WGRAD_VALUES_64
#undef WGRAD_VALUES_32
#undef WGRAD_VALUES_16
#undef WGRAD_LIST_16
#undef WGRAD_AT_16
#undef WGRAD_AT_4

}  // namespace wgrad::device::arch
