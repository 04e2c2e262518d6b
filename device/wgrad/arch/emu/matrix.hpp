// stmatrix, ldmatrix, conversions of pairs: arch/ptx/matrix.cuh.
#pragma once

#include "wgrad/arch/emu/memory.hpp"

namespace wgrad::device::arch {

WGRAD_DEVICE void store_matrices(u32 row_address, Chunk c) {
  emu::store_matrices(row_address, c.word);
}
WGRAD_DEVICE Chunk load_matrices(u32 row_address) {
  Chunk c{};
  emu::load_matrices(row_address, c.word);
  return c;
}

WGRAD_DEVICE Chunk load_matrices_transposed(u32 row_address) {
  Chunk c{};
  emu::load_matrices_transposed(row_address, c.word);
  return c;
}

struct FloatPair {
  float low;
  float high;
};

WGRAD_DEVICE u32 pack_bf16(float x, float y) {
  return emu::bf16_bits(x) | static_cast<u32>(emu::bf16_bits(y)) << 16;
}
WGRAD_DEVICE u32 pack_fp16(float x, float y) {
  return emu::fp16_bits(x) | static_cast<u32>(emu::fp16_bits(y)) << 16;
}
WGRAD_DEVICE FloatPair unpack_bf16(u32 packed) {
  return {emu::bf16_value(static_cast<u16>(packed)),
          emu::bf16_value(static_cast<u16>(packed >> 16))};
}
WGRAD_DEVICE FloatPair unpack_fp16(u32 packed) {
  return {emu::fp16_value(static_cast<u16>(packed)),
          emu::fp16_value(static_cast<u16>(packed >> 16))};
}

}  // namespace wgrad::device::arch
