// wgmma: arch/ptx/wgmma.cuh.
#pragma once

#include "wgrad/arch/emu/instructions.hpp"

namespace wgrad::device::arch {

inline constexpr bool kSetsAccumulators = false;

WGRAD_DEVICE void wgmma_fence() {
  emu::wgmma_fence();
}
WGRAD_DEVICE void wgmma_commit() {
  emu::wgmma_commit();
}
template <u32 kPending>
WGRAD_DEVICE void wgmma_wait() {
  emu::wgmma_wait(kPending);
}
template <u32 kCount>
WGRAD_DEVICE void wgmma_pin(float (&)[kCount]) {}
template <u32 kCount>
WGRAD_DEVICE void wgmma_pin(u32 (&)[kCount]) {}

template <InputType kType, u32 kTa, u32 kTb, u32 kCount>
WGRAD_DEVICE void wgmma_k16(float (&d)[kCount], u64 desc_a, u64 desc_b, u32 scale_d) {
  static_assert(kCount == 32 || kCount == 64 || kCount == 96 || kCount == 128);
  emu::wgmma(d, 2 * kCount, desc_a, nullptr, desc_b, scale_d != 0, kType == InputType::kFp16,
             kTa != 0, kTb != 0);
}

template <ElementType kA, ElementType kB, u32 kCount>
WGRAD_DEVICE void wgmma_k32(float (&d)[kCount], u64 desc_a, u64 desc_b, u32 scale_d) {
  static_assert(kCount == 32 || kCount == 64 || kCount == 128);
  emu::wgmma_fp8(d, 2 * kCount, desc_a, desc_b, scale_d != 0, kA == ElementType::kE5m2,
                 kB == ElementType::kE5m2);
}

// A from registers.
template <InputType kType, u32 kTb>
WGRAD_DEVICE void wgmma_k16(float (&d)[64], const u32 (&a)[4], u64 desc_b, u32 scale_d) {
  emu::wgmma(d, 128, 0, a, desc_b, scale_d != 0, kType == InputType::kFp16, false, kTb != 0);
}

}  // namespace wgrad::device::arch
