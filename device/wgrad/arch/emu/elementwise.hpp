// Streaming loads, narrow stores, maxima, FP8 codes: arch/ptx/elementwise.cuh.
#pragma once

#include "wgrad/arch/emu/memory.hpp"
#include "wgrad/arch/emu/packed.hpp"

namespace wgrad::device::arch {

WGRAD_DEVICE u32 stream_u16(u64 address) {
  return global_value<u16>(address);
}
WGRAD_DEVICE u32 stream_u32(u64 address) {
  return global_value<u32>(address);
}
WGRAD_DEVICE HalfChunk stream_half(u64 address) {
  return global_value<HalfChunk>(address);
}
WGRAD_DEVICE Chunk stream_chunk(u64 address) {
  return global_value<Chunk>(address);
}

WGRAD_DEVICE void store_global_u8(u64 address, u32 value) {
  const u8 byte = static_cast<u8>(value);
  emu::store_global(address, &byte, sizeof byte);
}
WGRAD_DEVICE void store_global_u16(u64 address, u32 value) {
  const u16 half = static_cast<u16>(value);
  emu::store_global(address, &half, sizeof half);
}

WGRAD_DEVICE u32 warp_max_u32(u32 value) {
  for (u32 lanes = 1; lanes < 32; lanes *= 2) {
    const u32 other = emu::shuffle(value, emu::thread_index() % 32 ^ lanes);
    value = value > other ? value : other;
  }
  return value;
}
WGRAD_DEVICE void max_global_u32(u64 address, u32 value) {
  emu::max_global(address, value);
}

template <typename Both>
WGRAD_DEVICE u32 halfwise(u32 x, u32 y, const Both& both) {
  return both(x & 0xffffu, y & 0xffffu) | both(x >> 16, y >> 16) << 16;
}
WGRAD_DEVICE u32 min_u16_pairs(u32 x, u32 y) {
  return halfwise(x, y, [](u32 a, u32 b) { return a < b ? a : b; });
}
WGRAD_DEVICE u32 max_u16_pairs(u32 x, u32 y) {
  return halfwise(x, y, [](u32 a, u32 b) { return a > b ? a : b; });
}
WGRAD_DEVICE u32 add_bf16(u32 x, u32 y) {
  return halfwise(x, y, [](u32 a, u32 b) {
    return u32{emu::bf16_bits(emu::bf16_value(static_cast<u16>(a)) +
                              emu::bf16_value(static_cast<u16>(b)))};
  });
}

WGRAD_DEVICE u32 e4m3_pair(float x, float y) {
  return u32{emu::e4m3_code(x)} | u32{emu::e4m3_code(y)} << 8;
}
WGRAD_DEVICE u32 e5m2_pair(float x, float y) {
  return u32{emu::e5m2_code(x)} | u32{emu::e5m2_code(y)} << 8;
}

}  // namespace wgrad::device::arch
