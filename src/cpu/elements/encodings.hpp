// Values of the small float encodings, written without branches so that loops over them vectorise.
// Every result is exact: each encoding's values are float32 values.
#pragma once

#include <bit>
#include <cstdint>

namespace wgrad::cpu {

#define WGRAD_INLINE [[gnu::always_inline]] inline

WGRAD_INLINE std::uint32_t select(bool condition, std::uint32_t yes, std::uint32_t no) {
  const std::uint32_t mask = 0U - static_cast<std::uint32_t>(condition);
  return (yes & mask) | (no & ~mask);
}

/// A sign, exponent and mantissa packed below one another; kBias as float32 counts exponents.
/// `magnitude` without its sign becomes float32 bits: the exponent is rebased where it is not zero,
/// else the value is magnitude * kSmallest.
template <int kMantissaBits, int kBias>
WGRAD_INLINE std::uint32_t widen(std::uint32_t magnitude) {
  constexpr float kSmallest = std::bit_cast<float>((128U - kBias - kMantissaBits) << 23);
  const std::uint32_t normal = (magnitude << (23 - kMantissaBits)) + ((127U - kBias) << 23);
  const auto subnormal =
      std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(magnitude)) * kSmallest);
  return select(magnitude < (1U << kMantissaBits), subnormal, normal);
}

/// One struct an element type: how many bits, which exponents its nonzero values span
/// (2^kLowest divides each, each is below 2^kHighest), and the value of a code.
struct E4m3 {
  static constexpr int kLowest = -9;
  static constexpr int kHighest = 9;
  WGRAD_INLINE static float value(std::uint32_t code) {
    const std::uint32_t magnitude = code & 0x7FU;
    const std::uint32_t bits = select(magnitude == 0x7FU, 0x7FC00000U, widen<3, 7>(magnitude));
    return std::bit_cast<float>(bits | (code & 0x80U) << 24);
  }
};

struct E5m2 {
  static constexpr int kLowest = -16;
  static constexpr int kHighest = 16;
  WGRAD_INLINE static float value(std::uint32_t code) {
    const std::uint32_t magnitude = code & 0x7FU;
    const std::uint32_t special = magnitude == 0x7CU ? 0x7F800000U : 0x7FC00000U;
    const std::uint32_t bits = select(magnitude >= 0x7CU, special, widen<2, 15>(magnitude));
    return std::bit_cast<float>(bits | (code & 0x80U) << 24);
  }
};

struct E2m1 {
  static constexpr int kLowest = -1;
  static constexpr int kHighest = 3;
  WGRAD_INLINE static float value(std::uint32_t code) {
    return std::bit_cast<float>(widen<1, 1>(code & 7U) | (code & 8U) << 28);
  }
};

WGRAD_INLINE float bf16_value(std::uint16_t code) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
}

WGRAD_INLINE float f16_value(std::uint16_t code) {
  const std::uint32_t magnitude = code & 0x7FFFU;
  const std::uint32_t special = (magnitude << 13) | 0x7F800000U;
  const std::uint32_t bits = select(magnitude >= 0x7C00U, special, widen<10, 15>(magnitude));
  return std::bit_cast<float>(bits | (code & 0x8000U) << 16);
}

/// Round to nearest, ties to even. Every NaN becomes the positive quiet one.
WGRAD_INLINE std::uint16_t bf16_rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  const bool nan = (bits & 0x7FFFFFFFU) > 0x7F800000U;
  return static_cast<std::uint16_t>(select(nan, 0x7FC0U, rounded));
}

WGRAD_INLINE std::uint16_t f16_rounded(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  // Adding 0.5 leaves the multiples of 2^-24 that a subnormal half counts in the low bits.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3F000000U;
  const std::uint32_t normal = (magnitude - 0x38000000U + 0xFFFU + (magnitude >> 13 & 1U)) >> 13;
  const std::uint32_t finite = select(magnitude < 0x38800000U, subnormal, normal);
  const std::uint32_t with_sign =
      select(magnitude >= 0x477FF000U, 0x7C00U, finite) | (bits >> 16 & 0x8000U);
  return static_cast<std::uint16_t>(select(magnitude > 0x7F800000U, 0x7E00U, with_sign));
}

/// The float32 "rounded to odd" of nearest + error, where `nearest` is the exact value rounded to
/// nearest and only the sign of `error` counts. Rounding that once more, to a shorter format,
/// equals rounding the exact value once (Boldo and Melquiond).
WGRAD_INLINE float to_odd(float nearest, float error) {
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const auto below = static_cast<std::uint32_t>(error < 0.0F);  // both false for NaN: an infinite
  const auto above = static_cast<std::uint32_t>(error > 0.0F);  // value stays
  const std::uint32_t negative = bits >> 31;
  const std::uint32_t away = (below & ~negative) | (above & negative);
  return std::bit_cast<float>((bits - away) | above | below);
}

/// a + b rounded to odd; the error of the sum comes from Knuth's two-sum.
WGRAD_INLINE float sum_to_odd(float a, float b) {
  const float sum = a + b;
  const float b_part = sum - a;
  return to_odd(sum, (a - (sum - b_part)) + (b - b_part));
}

/// A double rounded to odd. The error is enlarged so that it cannot vanish as a float32.
WGRAD_INLINE float narrow_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  return to_odd(nearest, static_cast<float>((value - static_cast<double>(nearest)) * 0x1p100));
}

}  // namespace wgrad::cpu
