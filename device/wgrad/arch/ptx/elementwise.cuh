// What kernels that stream through memory use: loads of data that is read once, narrow stores,
// maxima over a warp and in global memory, and FP8 codes of pairs. PTX: "ld.global.nc",
// "redux.sync", "red", "cvt".
#pragma once

#include "wgrad/arch/ptx/memory.cuh"

namespace wgrad::device::arch {

// Data that nobody writes while the kernel runs.
WGRAD_DEVICE u32 stream_u16(u64 address) {
  u16 value;
  asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(value) : "l"(address));
  return value;
}
WGRAD_DEVICE u32 stream_u32(u64 address) {
  u32 value;
  asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(value) : "l"(address));
  return value;
}
WGRAD_DEVICE HalfChunk stream_half(u64 address) {
  HalfChunk c;
  asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];"
               : "=r"(c.word[0]), "=r"(c.word[1])
               : "l"(address));
  return c;
}
WGRAD_DEVICE Chunk stream_chunk(u64 address) {
  Chunk c;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(c.word[0]), "=r"(c.word[1]), "=r"(c.word[2]), "=r"(c.word[3])
               : "l"(address));
  return c;
}

WGRAD_DEVICE void store_global_u8(u64 address, u32 value) {
  asm volatile("st.global.u8 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}
WGRAD_DEVICE void store_global_u16(u64 address, u32 value) {
  asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "h"(static_cast<u16>(value)) : "memory");
}

// The largest of a warp's 32 values, for all of them.
WGRAD_DEVICE u32 warp_max_u32(u32 value) {
  u32 most;
  asm volatile("redux.sync.max.u32 %0, %1, 0xffffffff;" : "=r"(most) : "r"(value));
  return most;
}
WGRAD_DEVICE void max_global_u32(u64 address, u32 value) {
  asm volatile("red.global.max.u32 [%0], %1;" ::"l"(address), "r"(value) : "memory");
}

// Pair by pair: of unsigned halves, and of BF16, to nearest even with subnormals kept.
WGRAD_DEVICE u32 min_u16_pairs(u32 x, u32 y) {
  u32 value;
  asm("min.u16x2 %0, %1, %2;" : "=r"(value) : "r"(x), "r"(y));
  return value;
}
WGRAD_DEVICE u32 max_u16_pairs(u32 x, u32 y) {
  u32 value;
  asm("max.u16x2 %0, %1, %2;" : "=r"(value) : "r"(x), "r"(y));
  return value;
}
WGRAD_DEVICE u32 add_bf16(u32 x, u32 y) {
  u32 value;
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(value) : "r"(x), "r"(y));
  return value;
}

// To nearest even, saturating; the low byte holds x. Neither is NaN.
WGRAD_DEVICE u32 e4m3_pair(float x, float y) {
  u16 codes;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(y), "f"(x));
  return codes;
}
WGRAD_DEVICE u32 e5m2_pair(float x, float y) {
  u16 codes;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(codes) : "f"(y), "f"(x));
  return codes;
}

}  // namespace wgrad::device::arch
