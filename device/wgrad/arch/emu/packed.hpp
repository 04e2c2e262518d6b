// Bytes and pairs of 16-bit floats inside a register: arch/ptx/packed.cuh.
#pragma once

#include "wgrad/arch/emu/instructions.hpp"

namespace wgrad::device::arch {

template <u32 kSelector>
WGRAD_DEVICE u32 permute_bytes(u32 x, u32 y) {
  const u64 bytes = u64{y} << 32 | x;
  u32 value = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 pick = kSelector >> (4 * i);
    const u32 byte = static_cast<u32>(bytes >> (8 * (pick & 7))) & 0xff;
    const u32 chosen = (pick & 8) == 0 ? byte : byte >= 0x80 ? 0xffu : 0u;
    value |= chosen << (8 * i);
  }
  return value;
}

// A product of two of these has at most 22 significant bits: float rounds only what it must.
WGRAD_DEVICE u32 multiply_bf16(u32 x, u32 y) {
  const auto one = [](u32 a, u32 b) {
    return u32{emu::bf16_bits(emu::bf16_value(static_cast<u16>(a)) *
                              emu::bf16_value(static_cast<u16>(b)))};
  };
  return one(x, y) | one(x >> 16, y >> 16) << 16;
}
WGRAD_DEVICE u32 multiply_fp16(u32 x, u32 y) {
  const auto one = [](u32 a, u32 b) {
    return u32{emu::fp16_bits(emu::fp16_value(static_cast<u16>(a)) *
                              emu::fp16_value(static_cast<u16>(b)))};
  };
  return one(x, y) | one(x >> 16, y >> 16) << 16;
}

WGRAD_DEVICE u32 fp16_of_e4m3(u32 codes) {
  const auto one = [](u32 code) -> u32 {
    const ElementParts p = parts_of(ElementType::kE4m3, code);
    if (p.is_nan) return 0x7fff;
    const float size =
        static_cast<float>(p.significand) * static_cast<float>(1u << (p.exponent + 9)) * 0x1p-9f;
    return emu::fp16_bits(p.sign != 0 ? -size : size);
  };
  return one(codes & 0xff) | one(codes >> 8 & 0xff) << 16;
}

}  // namespace wgrad::device::arch
