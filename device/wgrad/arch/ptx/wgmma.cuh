// wgmma: 64 x N += A (64 x 16) * B (16 x N), 16-bit operands in shared memory, FP32 accumulators in
// registers. PTX: "wgmma.mma_async", "wgmma.fence / commit_group / wait_group". All 128 threads of
// a warpgroup execute each.
#pragma once

#include "wgrad/arch/ptx/wgmma_lists.cuh"

namespace wgrad::device::arch {

// Compilers before CUDA 12.9 carry accumulators that nothing has set from tile to tile, and then
// serialise the wgmmas (ptxas C7515; docs/notes/2026-11-30-nvrtc-12.md): there every sum starts
// with zeros.
inline constexpr bool kSetsAccumulators =
    __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 12 * 100 + 9;

// Orders register and shared memory accesses before the wgmmas that follow.
WGRAD_DEVICE void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
WGRAD_DEVICE void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Until at most kPending groups are in flight.
template <u32 kPending>
WGRAD_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Pins the accumulators here: the compiler may move no access of them across a wait.
template <u32 kCount>
WGRAD_DEVICE void wgmma_pin(float (&d)[kCount]) {
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// The same of fragments of A: what makes them may not move behind the fence.
template <u32 kCount>
WGRAD_DEVICE void wgmma_pin(u32 (&a)[kCount]) {
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) asm volatile("" : "+r"(a[i])::"memory");
}

// One shape and type. `regs` accumulators are operands 0..regs-1; a, b, keep, ta, tb name the ones
// after them. scale_d 0: D = A * B; else D += A * B. kTa, kTb: 1 for an MN-major operand.
#define WGRAD_WGMMA(shape, type, regs, a, b, keep, ta, tb)                                   \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #keep                                    \
               ", 0;\n"                                                                      \
               "wgmma.mma_async.sync.aligned.m64n" #shape "k16.f32." type "." type           \
               " {" WGRAD_LIST_##regs "}, %" #a ", %" #b ", p, 1, 1, %" #ta ", %" #tb ";\n}" \
               : WGRAD_REGS_##regs                                                           \
               : "l"(desc_a), "l"(desc_b), "r"(scale_d), "n"(kTa), "n"(kTb)                  \
               : "memory")

#define WGRAD_WGMMA_SHAPE(shape, regs, a, b, keep, ta, tb)                            \
  template <InputType kType, u32 kTa, u32 kTb>                                        \
  WGRAD_DEVICE void wgmma_k16(float(&d)[regs], u64 desc_a, u64 desc_b, u32 scale_d) { \
    if constexpr (kType == InputType::kBf16) {                                        \
      WGRAD_WGMMA(shape, "bf16", regs, a, b, keep, ta, tb);                           \
    } else {                                                                          \
      WGRAD_WGMMA(shape, "f16", regs, a, b, keep, ta, tb);                            \
    }                                                                                 \
  }

WGRAD_WGMMA_SHAPE(64, 32, 32, 33, 34, 35, 36)
WGRAD_WGMMA_SHAPE(128, 64, 64, 65, 66, 67, 68)
WGRAD_WGMMA_SHAPE(192, 96, 96, 97, 98, 99, 100)
WGRAD_WGMMA_SHAPE(256, 128, 128, 129, 130, 131, 132)

#undef WGRAD_WGMMA_SHAPE
#undef WGRAD_WGMMA

// 64 x N += A (64 x 32) * B (32 x N), FP8 operands, both K-major in shared memory.
#define WGRAD_WGMMA_FP8(shape, types, regs, a, b, keep)                                           \
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #keep                                         \
               ", 0;\n"                                                                           \
               "wgmma.mma_async.sync.aligned.m64n" #shape "k32.f32." types " {" WGRAD_LIST_##regs \
               "}, %" #a ", %" #b ", p, 1, 1;\n}"                                                 \
               : WGRAD_REGS_##regs                                                                \
               : "l"(desc_a), "l"(desc_b), "r"(scale_d)                                           \
               : "memory")

#define WGRAD_WGMMA_FP8_SHAPE(shape, regs, a, b, keep)                                \
  template <ElementType kA, ElementType kB>                                           \
  WGRAD_DEVICE void wgmma_k32(float(&d)[regs], u64 desc_a, u64 desc_b, u32 scale_d) { \
    if constexpr (kA == ElementType::kE4m3 && kB == ElementType::kE4m3)               \
      WGRAD_WGMMA_FP8(shape, "e4m3.e4m3", regs, a, b, keep);                          \
    if constexpr (kA == ElementType::kE4m3 && kB == ElementType::kE5m2)               \
      WGRAD_WGMMA_FP8(shape, "e4m3.e5m2", regs, a, b, keep);                          \
    if constexpr (kA == ElementType::kE5m2 && kB == ElementType::kE4m3)               \
      WGRAD_WGMMA_FP8(shape, "e5m2.e4m3", regs, a, b, keep);                          \
    if constexpr (kA == ElementType::kE5m2 && kB == ElementType::kE5m2)               \
      WGRAD_WGMMA_FP8(shape, "e5m2.e5m2", regs, a, b, keep);                          \
  }

WGRAD_WGMMA_FP8_SHAPE(64, 32, 32, 33, 34)
WGRAD_WGMMA_FP8_SHAPE(128, 64, 64, 65, 66)
WGRAD_WGMMA_FP8_SHAPE(256, 128, 128, 129, 130)

#undef WGRAD_WGMMA_FP8_SHAPE
#undef WGRAD_WGMMA_FP8

// A from registers, in the fragments of "wgmma.mma_async": rows l/4 and l/4 + 8 of a warp's 16, K
// 2 (l%4) and 8 further. They belong to the wgmma until it is waited for.
#define WGRAD_WGMMA_REGISTERS(type)                                                     \
  asm volatile(                                                                         \
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"                                      \
      "wgmma.mma_async.sync.aligned.m64n128k16.f32." type "." type " {" WGRAD_LIST_64   \
      "}, {%64, %65, %66, %67}, %68, p, 1, 1, %70;\n}"                                  \
      : WGRAD_REGS_64                                                                   \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc_b), "r"(scale_d), "n"(kTb) \
      : "memory")

template <InputType kType, u32 kTb>
WGRAD_DEVICE void wgmma_k16(float (&d)[64], const u32 (&a)[4], u64 desc_b, u32 scale_d) {
  if constexpr (kType == InputType::kBf16) {
    WGRAD_WGMMA_REGISTERS("bf16");
  } else {
    WGRAD_WGMMA_REGISTERS("f16");
  }
}

#undef WGRAD_WGMMA_REGISTERS

}  // namespace wgrad::device::arch
