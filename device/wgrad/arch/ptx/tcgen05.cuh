// The tensor core that works from shared and tensor memory: one thread issues, and goes on. PTX
// ISA, 9.7.16.6 (memory consistency), 9.7.16.9 ("tcgen05.cp"), 9.7.16.10 ("tcgen05.mma"),
// 9.7.16.11 ("tcgen05.fence"), 9.7.16.12 ("tcgen05.commit"). kCtas is cta_group
// (tensor_memory.cuh).
//
// Ordered without more, from one thread: multiplications with the same D and shape; copies before
// multiplications; all before a commit. Everything else has to be waited for.
#pragma once

#include "wgrad/shared/mma_kind.hpp"

namespace wgrad::device::arch {

// Around a barrier by which threads hand tensor memory (or an order of these instructions) to each
// other: the first before arriving (a commit stands for it), the second after waiting.
WGRAD_DEVICE void tcgen05_fence_before_sync() {
  asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
}
WGRAD_DEVICE void tcgen05_fence_after_sync() {
  asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
}

#define WGRAD_MMA(group)                                                             \
  asm volatile(                                                                      \
      "{\n.reg .pred p;\nsetp.ne.u32 p, %4, 0;\n"                                    \
      "tcgen05.mma.cta_group::" group ".kind::f16 [%0], %1, %2, %3, p;\n}" ::"r"(d), \
      "l"(a), "l"(b), "r"(instruction), "r"(accumulate)                              \
      : "memory")

// kind::f16. D (tensor memory, FP32) = A * B, or D += A * B where `accumulate` is not 0; 16 of K.
// `a`, `b`: matrix_descriptor; `instruction`: f16_instruction. kCtas 2: by one thread of the even
// CTA; addresses mean the same offsets in both CTAs, each of which holds half the rows of A, of B
// (columns of the product) and of D (M 256), or half of D's columns in its upper lanes (M 128).
template <u32 kCtas>
WGRAD_DEVICE void tcgen05_multiply(u32 d, u64 a, u64 b, u32 instruction, u32 accumulate) {
  static_assert(kCtas == 1 || kCtas == 2);
  if constexpr (kCtas == 1) {
    WGRAD_MMA("1");
  } else {
    WGRAD_MMA("2");
  }
}

#undef WGRAD_MMA

#define WGRAD_MMA(group, kind)                                                        \
  asm volatile(                                                                       \
      "{\n.reg .pred p;\nsetp.ne.u32 p, %6, 0;\n"                                     \
      "tcgen05.mma.cta_group::" group ".kind::" kind                                  \
      " [%0], %1, %2, %3, [%4], [%5], p;\n}" ::"r"(d),                                \
      "l"(a), "l"(b), "r"(instruction), "r"(scales_a), "r"(scales_b), "r"(accumulate) \
      : "memory")

// D = (A * SFA) * (B * SFB) (+ D). Scale factors lie in tensor memory: row r in lane r % 32, column
// + r / 32, the same in all four quarters of the lanes (tcgen05_copy_scales); the word's bytes are
// scale factors along K, of which `instruction` names the first.
template <MmaKind kKind, u32 kCtas>
WGRAD_DEVICE void tcgen05_multiply_scaled(u32 d, u64 a, u64 b, u32 instruction, u32 scales_a,
                                          u32 scales_b, u32 accumulate) {
  static_assert(has_block_scales(kKind) && (kCtas == 1 || kCtas == 2));
  if constexpr (kKind == MmaKind::kMxf8f6f4 && kCtas == 1) {
    WGRAD_MMA("1", "mxf8f6f4.block_scale.block32");
  } else if constexpr (kKind == MmaKind::kMxf8f6f4) {
    WGRAD_MMA("2", "mxf8f6f4.block_scale.block32");
  } else if constexpr (kKind == MmaKind::kMxf4 && kCtas == 1) {
    WGRAD_MMA("1", "mxf4.block_scale.block32");
  } else if constexpr (kKind == MmaKind::kMxf4) {
    WGRAD_MMA("2", "mxf4.block_scale.block32");
  } else if constexpr (kCtas == 1) {
    WGRAD_MMA("1", "mxf4nvf4.block_scale.block16");
  } else {
    WGRAD_MMA("2", "mxf4nvf4.block_scale.block16");
  }
}

#undef WGRAD_MMA

// An atom of scale factors (512 bytes: 32 rows of 16 bytes) from shared memory to 4 columns, into
// each quarter of the lanes. `atom`: matrix_descriptor(kScaleAtoms, address). kCtas 2: by one
// thread of the even CTA; each CTA copies from its own memory to its own.
template <u32 kCtas>
WGRAD_DEVICE void tcgen05_copy_scales(u32 columns, u64 atom) {
  static_assert(kCtas == 1 || kCtas == 2);
  if constexpr (kCtas == 1) {
    asm volatile("tcgen05.cp.cta_group::1.32x128b.warpx4 [%0], %1;" ::"r"(columns), "l"(atom)
                 : "memory");
  } else {
    asm volatile("tcgen05.cp.cta_group::2.32x128b.warpx4 [%0], %1;" ::"r"(columns), "l"(atom)
                 : "memory");
  }
}

// One arrival at the mbarrier `barrier` of this CTA once all that this thread has issued so far is
// complete. Also fence_before_sync.
template <u32 kCtas>
WGRAD_DEVICE void tcgen05_commit(u32 barrier) {
  static_assert(kCtas == 1 || kCtas == 2);
  if constexpr (kCtas == 1) {
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
        : "memory");
  } else {
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(barrier)
        : "memory");
  }
}

// The same, at the barrier with this offset of every CTA of the cluster in `cta_mask`.
template <u32 kCtas>
WGRAD_DEVICE void tcgen05_commit_multicast(u32 barrier, u16 cta_mask) {
  static_assert(kCtas == 1 || kCtas == 2);
  if constexpr (kCtas == 1) {
    asm volatile(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
        "[%0], %1;" ::"r"(barrier),
        "h"(cta_mask)
        : "memory");
  } else {
    asm volatile(
        "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
        "[%0], %1;" ::"r"(barrier),
        "h"(cta_mask)
        : "memory");
  }
}

}  // namespace wgrad::device::arch
