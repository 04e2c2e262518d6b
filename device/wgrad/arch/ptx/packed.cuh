// Bytes and pairs of 16-bit floats inside a register. PTX: "prmt", "mul" (half precision), "cvt".
#pragma once

namespace wgrad::device::arch {

// Byte i of the result is byte `nibble i of kSelector` of y:x; with 8 added, that byte's sign bit
// eight times.
template <u32 kSelector>
WGRAD_DEVICE u32 permute_bytes(u32 x, u32 y) {
  u32 value;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(value) : "r"(x), "r"(y), "n"(kSelector));
  return value;
}

// Pair by pair, to nearest even; subnormals are kept.
WGRAD_DEVICE u32 multiply_bf16(u32 x, u32 y) {
  u32 value;
  asm("mul.rn.bf16x2 %0, %1, %2;" : "=r"(value) : "r"(x), "r"(y));
  return value;
}
WGRAD_DEVICE u32 multiply_fp16(u32 x, u32 y) {
  u32 value;
  asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(value) : "r"(x), "r"(y));
  return value;
}

// The low two bytes as FP16, exactly; the low half holds the low byte.
WGRAD_DEVICE u32 fp16_of_e4m3(u32 codes) {
  u32 value;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(value) : "h"(static_cast<u16>(codes)));
  return value;
}

}  // namespace wgrad::device::arch
