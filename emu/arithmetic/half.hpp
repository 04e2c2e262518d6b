// 16-bit and 8-bit floats, rounded to nearest even as the hardware's cvt does.
#pragma once

#include <bit>
#include <cstdint>

namespace wgrad::emu {

inline float bf16_to_float(std::uint16_t x) {
  return std::bit_cast<float>(std::uint32_t{x} << 16);
}

inline std::uint16_t float_to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;  // PTX: the canonical NaN
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float fp16_to_float(std::uint16_t x) {
  const std::uint32_t sign = std::uint32_t{x & 0x8000u} << 16;
  const std::uint32_t exponent = x >> 10 & 31, fraction = x & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float small = static_cast<float>(fraction) * 0x1p-24f;
  return sign != 0 ? -small : small;
}

inline std::uint16_t float_to_fp16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t size = bits & 0x7fffffff;
  if (size > 0x7f800000) return 0x7fff;
  if (size >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // rounds past 65504
  if (size < 0x38800000) {  // below the smallest normal: adding 1/2 rounds at 2^-24
    const float rounded = std::bit_cast<float>(size) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(rounded) - 0x3f000000));
  }
  return static_cast<std::uint16_t>(sign | (((size + 0xfff + (size >> 13 & 1)) >> 13) - 0x1c000));
}

/// e4m3 (fn) or e5m2.
inline float fp8_to_float(std::uint8_t x, bool e5m2) {
  const unsigned places = e5m2 ? 2 : 3, bias = e5m2 ? 15 : 7;
  const std::uint32_t sign = std::uint32_t{x & 0x80u} << 24, magnitude = x & 0x7fu;
  const std::uint32_t exponent = magnitude >> places, fraction = magnitude & ((1u << places) - 1);
  if (e5m2 ? magnitude >= 0x7c : magnitude == 0x7f)
    return std::bit_cast<float>(sign | 0x7f800000 | (e5m2 ? fraction : 1u) << 21);
  if (exponent != 0)
    return std::bit_cast<float>(sign | (exponent + 127 - bias) << 23 | fraction << (23 - places));
  const float unit = std::bit_cast<float>((128 - bias - places) << 23);
  const float small = static_cast<float>(fraction) * unit;
  return sign != 0 ? -small : small;
}

/// With `mantissa` bits and exponents of this bias; `most`: the code that larger numbers become.
inline std::uint8_t float_to_fp8(float x, unsigned mantissa, unsigned bias, std::uint32_t most) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 24 & 0x80, size = bits & 0x7fffffff;
  const unsigned dropped = 23 - mantissa;
  std::uint32_t code = 0;
  if (size >> 23 > 127 - bias) {
    const std::uint32_t odd = size >> dropped & 1;
    code = (size + (1u << (dropped - 1)) - 1 + odd) >> dropped;
    code -= (127 - bias) << mantissa;
  } else {  // a float whose last bit is worth the smallest subnormal rounds at that
    const std::uint32_t unit = (127 + 24 - bias - mantissa) << 23;
    code = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + std::bit_cast<float>(unit)) -
           unit;
  }
  return static_cast<std::uint8_t>(sign | (code < most ? code : most));
}

}  // namespace wgrad::emu
