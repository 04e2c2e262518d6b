// Tensor memory and the tensor core that works from it: arch/ptx/tensor_memory.cuh,
// tensor_memory_access.cuh, tcgen05.cuh.
#pragma once

#include "wgrad/arch/emu/tcgen05_instructions.hpp"

namespace wgrad::device::arch {

template <u32 kCtas>
WGRAD_DEVICE void tensor_memory_alloc(u32 slot, u32 columns) {
  static_assert(kCtas == 1 || kCtas == 2);
  emu::tensor_memory_alloc(kCtas, slot, columns);
}
template <u32 kCtas>
WGRAD_DEVICE void tensor_memory_relinquish() {
  static_assert(kCtas == 1 || kCtas == 2);
  emu::tensor_memory_relinquish(kCtas);
}
template <u32 kCtas>
WGRAD_DEVICE void tensor_memory_free(u32 address, u32 columns) {
  static_assert(kCtas == 1 || kCtas == 2);
  emu::tensor_memory_free(kCtas, address, columns);
}

template <u32 kCount>
WGRAD_DEVICE void tensor_memory_load(float (&values)[kCount], u32 address) {
  static_assert(kCount == 16 || kCount == 32 || kCount == 64 || kCount == 128);
  emu::tensor_memory_load(emu::LaneShape::k32x32b, values, kCount, address);
}
template <u32 kCount>
WGRAD_DEVICE void tensor_memory_load_fragments(float (&values)[kCount], u32 address) {
  static_assert(kCount == 32 || kCount == 64 || kCount == 128);
  emu::tensor_memory_load(emu::LaneShape::k16x256b, values, kCount, address);
}
WGRAD_DEVICE void tensor_memory_store(u32 address, const float (&values)[32]) {
  emu::tensor_memory_store(address, values, 32);
}
WGRAD_DEVICE void tensor_memory_wait_loads() {
  emu::tensor_memory_wait_loads();
}
WGRAD_DEVICE void tensor_memory_wait_stores() {
  emu::tensor_memory_wait_stores();
}
template <u32 kCount>
WGRAD_DEVICE void tensor_memory_pin(float (&)[kCount]) {}

WGRAD_DEVICE void tcgen05_fence_before_sync() {
  emu::tcgen05_fence_before_sync();
}
WGRAD_DEVICE void tcgen05_fence_after_sync() {
  emu::tcgen05_fence_after_sync();
}

template <u32 kCtas>
WGRAD_DEVICE void tcgen05_multiply(u32 d, u64 a, u64 b, u32 instruction, u32 accumulate) {
  static_assert(kCtas == 1 || kCtas == 2);
  emu::tcgen05_multiply({MmaKind::kF16, kCtas, d, a, b, instruction, 0, 0, accumulate != 0});
}
template <MmaKind kKind, u32 kCtas>
WGRAD_DEVICE void tcgen05_multiply_scaled(u32 d, u64 a, u64 b, u32 instruction, u32 scales_a,
                                          u32 scales_b, u32 accumulate) {
  static_assert(has_block_scales(kKind) && (kCtas == 1 || kCtas == 2));
  emu::tcgen05_multiply({kKind, kCtas, d, a, b, instruction, scales_a, scales_b, accumulate != 0});
}
template <u32 kCtas>
WGRAD_DEVICE void tcgen05_copy_scales(u32 columns, u64 atom) {
  static_assert(kCtas == 1 || kCtas == 2);
  emu::tcgen05_copy_scales(kCtas, columns, atom);
}
template <u32 kCtas>
WGRAD_DEVICE void tcgen05_commit(u32 barrier) {
  static_assert(kCtas == 1 || kCtas == 2);
  emu::tcgen05_commit(kCtas, barrier, 0);
}
template <u32 kCtas>
WGRAD_DEVICE void tcgen05_commit_multicast(u32 barrier, u16 cta_mask) {
  static_assert(kCtas == 1 || kCtas == 2);
  emu::tcgen05_commit(kCtas, barrier, cta_mask);
}

}  // namespace wgrad::device::arch
