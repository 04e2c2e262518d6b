// Kinds of tcgen05.mma that wgrad knows, and the depth of one instruction. PTX ISA, 9.7.16.2.1
// ("Matrix Shape", "Specifying Matrix Shape") and 9.7.16.10.
#pragma once

#include "wgrad/shared/types.hpp"

namespace wgrad::shared {

// D = A * B (+ D) in FP32. The last three multiply blocks of A and B by scale factors.
enum class MmaKind : u8 {
  kF16,       // fp16 or bf16
  kMxf8f6f4,  // e4m3, e5m2, e2m1 in bytes; e8m0 for 32 elements (scale_vec::1X)
  kMxf4,      // packed e2m1; e8m0 for 32 elements (scale_vec::2X)
  kMxf4nvf4,  // packed e2m1; e4m3 for 16 elements (scale_vec::4X)
};

// K of one instruction: always 32 bytes of a row of an operand.
constexpr u32 mma_depth(MmaKind kind) {
  return kind == MmaKind::kF16 ? 16 : kind == MmaKind::kMxf8f6f4 ? 32 : 64;
}
// Bits that an element takes in shared memory.
constexpr u32 mma_element_bits(MmaKind kind) {
  return 256 / mma_depth(kind);
}
constexpr bool has_block_scales(MmaKind kind) {
  return kind != MmaKind::kF16;
}
// Scale factors of one row in one instruction.
constexpr u32 mma_scales(MmaKind kind) {
  return kind == MmaKind::kMxf8f6f4 ? 1 : kind == MmaKind::kMxf4 ? 2 : 4;
}

}  // namespace wgrad::shared
