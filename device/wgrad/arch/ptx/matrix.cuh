// 8x8 matrices of 16-bit elements between fragments and shared memory, and conversions of pairs.
// PTX: "stmatrix", "ldmatrix", "cvt". Lane l addresses row l % 8 of matrix l / 8.
#pragma once

#include "wgrad/arch/ptx/memory.cuh"

namespace wgrad::device::arch {

WGRAD_DEVICE void store_matrices(u32 row_address, Chunk c) {
  asm volatile(
      "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row_address),
      "r"(c.word[0]), "r"(c.word[1]), "r"(c.word[2]), "r"(c.word[3])
      : "memory");
}

WGRAD_DEVICE Chunk load_matrices(u32 row_address) {
  Chunk c;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(c.word[0]), "=r"(c.word[1]), "=r"(c.word[2]), "=r"(c.word[3])
               : "r"(row_address)
               : "memory");
  return c;
}

// The same of transposed matrices: element (row, column) goes where (column, row) would.
WGRAD_DEVICE Chunk load_matrices_transposed(u32 row_address) {
  Chunk c;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(c.word[0]), "=r"(c.word[1]), "=r"(c.word[2]), "=r"(c.word[3])
               : "r"(row_address)
               : "memory");
  return c;
}

struct FloatPair {
  float low;
  float high;
};

// Round to nearest even; the low half holds x.
WGRAD_DEVICE u32 pack_bf16(float x, float y) {
  u32 packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(y), "f"(x));
  return packed;
}
WGRAD_DEVICE u32 pack_fp16(float x, float y) {
  u32 packed;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(y), "f"(x));
  return packed;
}
WGRAD_DEVICE FloatPair unpack_bf16(u32 packed) {
  FloatPair pair;
  asm("mov.b32 %0, %1;" : "=f"(pair.low) : "r"(packed << 16));
  asm("mov.b32 %0, %1;" : "=f"(pair.high) : "r"(packed & 0xffff0000u));
  return pair;
}
WGRAD_DEVICE FloatPair unpack_fp16(u32 packed) {
  FloatPair pair;
  asm("{\n.reg .b16 l, h;\nmov.b32 {l, h}, %2;\ncvt.f32.f16 %0, l;\ncvt.f32.f16 %1, h;\n}"
      : "=f"(pair.low), "=f"(pair.high)
      : "r"(packed));
  return pair;
}

}  // namespace wgrad::device::arch
