// Look-up tables from element and scale codes to float and to bf16, for decoding tiles quickly.
// Every code of the 8-bit and 4-bit formats is exact in float; e4m3, e5m2 and e2m1 are exact in
// bf16 too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "scales/codec.hpp"

namespace wgrad::scales {

/// table[code] for all 256 byte codes of `dtype` (kE4m3, kE5m2 or kE8m0).
constexpr std::array<float, 256> float_table(DType dtype) {
  std::array<float, 256> table{};
  for (std::uint32_t code = 0; code < 256; ++code) {
    table[code] = static_cast<float>(decode(dtype, code));
  }
  return table;
}

constexpr std::uint16_t to_bf16(double value) {
  return static_cast<std::uint16_t>(encode<kBf16Format>(value, Overflow::kInfinity));
}

/// The same as bf16 bit patterns; kE8m0 byte 0 is the bf16 subnormal 2^-127.
constexpr std::array<std::uint16_t, 256> bf16_table(DType dtype) {
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t code = 0; code < 256; ++code) table[code] = to_bf16(decode(dtype, code));
  return table;
}

inline constexpr std::array<float, 256> kE4m3Floats = float_table(DType::kE4m3);
inline constexpr std::array<float, 256> kE5m2Floats = float_table(DType::kE5m2);
inline constexpr std::array<float, 256> kE8m0Floats = float_table(DType::kE8m0);
inline constexpr std::array<std::uint16_t, 256> kE4m3Bf16s = bf16_table(DType::kE4m3);
inline constexpr std::array<std::uint16_t, 256> kE5m2Bf16s = bf16_table(DType::kE5m2);

/// table[nibble] for the sixteen e2m1 codes.
inline constexpr std::array<float, 16> kE2m1Floats = [] {
  std::array<float, 16> table{};
  for (std::uint32_t code = 0; code < 16; ++code) {
    table[code] = static_cast<float>(decode<kE2m1Format>(code));
  }
  return table;
}();

/// table[byte] = the two tokens of a packed FP4 byte, even token (low nibble) first.
inline constexpr std::array<std::array<float, 2>, 256> kE2m1PairFloats = [] {
  std::array<std::array<float, 2>, 256> table{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    table[byte] = {kE2m1Floats[byte & 0xFU], kE2m1Floats[byte >> 4U]};
  }
  return table;
}();

inline constexpr std::array<std::array<std::uint16_t, 2>, 256> kE2m1PairBf16s = [] {
  std::array<std::array<std::uint16_t, 2>, 256> table{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    table[byte] = {to_bf16(kE2m1Floats[byte & 0xFU]), to_bf16(kE2m1Floats[byte >> 4U])};
  }
  return table;
}();

}  // namespace wgrad::scales
