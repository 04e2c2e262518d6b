// Elements of the output: rounded, added to what is there, stored one by one.
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/shared/kernel_config.hpp"

namespace wgrad::device {

template <OutputType kType>
WGRAD_DEVICE u32 pack(float x, float y) {
  if constexpr (kType == OutputType::kBf16) return arch::pack_bf16(x, y);
  return arch::pack_fp16(x, y);
}

template <OutputType kType>
WGRAD_DEVICE arch::FloatPair unpack(u32 packed) {
  if constexpr (kType == OutputType::kBf16) return arch::unpack_bf16(packed);
  return arch::unpack_fp16(packed);
}

// Rounded sum of two accumulators and, when kAdd, the two destination values already there.
template <OutputType kType, bool kAdd>
WGRAD_DEVICE u32 round_pair(float x, float y, u32 there) {
  if constexpr (kAdd) {
    const arch::FloatPair old = unpack<kType>(there);
    return pack<kType>(x + old.low, y + old.high);
  }
  return pack<kType>(x, y);
}

// One by one: the last columns of a row whose length is no multiple of 16 bytes.
template <auto kConfig>
WGRAD_DEVICE void store_element(u64 address, float value) {
  if constexpr (kConfig.output == OutputType::kFp32) {
    if constexpr (kConfig.accumulate) value += arch::load_output_f32(address);
    arch::store_output_f32(address, value);
  } else {
    u32 there = 0;
    if constexpr (kConfig.accumulate) there = arch::load_output_u16(address);
    arch::store_output_u16(
        address, round_pair<kConfig.output, kConfig.accumulate>(value, 0.0f, there) & 0xffffu);
  }
}

}  // namespace wgrad::device
