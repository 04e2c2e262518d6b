// The emulated machine's tensor memory and tcgen05 instructions, as the arch:: names call them.
// `ctas`: cta_group.
#pragma once

#include <cstdint>

#include "wgrad/shared/mma_kind.hpp"

namespace wgrad::emu {

using shared::MmaKind;

void tensor_memory_alloc(std::uint32_t ctas, std::uint32_t slot, std::uint32_t columns);
void tensor_memory_relinquish(std::uint32_t ctas);
void tensor_memory_free(std::uint32_t ctas, std::uint32_t address, std::uint32_t columns);

enum class LaneShape : std::uint8_t {
  k32x32b,   // register k: column k
  k16x256b,  // four registers: 8 columns of 16 lanes
};
void tensor_memory_load(LaneShape shape, float* registers, std::uint32_t count,
                        std::uint32_t address);
void tensor_memory_store(std::uint32_t address, const float* registers, std::uint32_t count);
void tensor_memory_wait_loads();
void tensor_memory_wait_stores();

void tcgen05_fence_before_sync();
void tcgen05_fence_after_sync();

struct Multiplication {
  MmaKind kind = MmaKind::kF16;
  std::uint32_t ctas = 1;
  std::uint32_t d = 0;  // tensor memory
  std::uint64_t a = 0;  // descriptors
  std::uint64_t b = 0;
  std::uint32_t instruction = 0;
  std::uint32_t scales_a = 0;  // tensor memory; block-scaled kinds only
  std::uint32_t scales_b = 0;
  bool accumulate = false;
};
void tcgen05_multiply(const Multiplication& multiplication);
void tcgen05_copy_scales(std::uint32_t ctas, std::uint32_t columns, std::uint64_t atom);
// Mask 0: this CTA's barrier.
void tcgen05_commit(std::uint32_t ctas, std::uint32_t barrier, std::uint32_t cta_mask);

}  // namespace wgrad::emu
