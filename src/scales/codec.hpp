// Codecs between small floating-point codes and double, exact in both directions but for one
// rounding to nearest even. Sources: IEEE 754 (binary16), OCP 8-bit FP (OFP8) 1.0, OCP MX 1.0.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "wgrad/dtype.hpp"

namespace wgrad::scales {

/// What the codes at the top of the exponent range mean.
enum class Specials : std::uint8_t {
  kIeee,     ///< all exponent bits set: infinity (mantissa 0), NaN otherwise
  kNanOnly,  ///< all exponent and mantissa bits set: NaN; no infinity
  kNone,     ///< every code is finite
};

/// A sign bit, `exponent_bits`, `mantissa_bits`, with subnormals.
struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  Specials specials = Specials::kIeee;

  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int min_exponent() const { return 1 - bias(); }
  constexpr std::uint32_t sign_bit() const { return 1U << (exponent_bits + mantissa_bits); }
  constexpr std::uint32_t infinity() const { return ((1U << exponent_bits) - 1U) << mantissa_bits; }
  /// Largest finite code of a positive number.
  constexpr std::uint32_t max_code() const {
    if (specials == Specials::kIeee) return infinity() - 1U;
    return specials == Specials::kNanOnly ? sign_bit() - 2U : sign_bit() - 1U;
  }
  /// The quiet NaN that encode() makes; the largest code where the format has none.
  constexpr std::uint32_t nan_code() const {
    return specials == Specials::kIeee ? infinity() | (1U << (mantissa_bits - 1)) : sign_bit() - 1U;
  }
};

constexpr FloatFormat kBf16Format{8, 7, Specials::kIeee};
constexpr FloatFormat kF16Format{5, 10, Specials::kIeee};
constexpr FloatFormat kE5m2Format{5, 2, Specials::kIeee};
constexpr FloatFormat kE4m3Format{4, 3, Specials::kNanOnly};
constexpr FloatFormat kE2m1Format{2, 1, Specials::kNone};

/// 2^exponent, exactly; exponent in [-1022, 1023].
constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52U);
}

/// The value of `code`; exact.
template <FloatFormat F>
constexpr double decode(std::uint32_t code) {
  const std::uint32_t magnitude = code & (F.sign_bit() - 1U);
  const double sign = (code & F.sign_bit()) != 0 ? -1.0 : 1.0;
  if (magnitude > F.max_code()) {
    return F.specials == Specials::kIeee && magnitude == F.infinity()
               ? sign * std::numeric_limits<double>::infinity()
               : std::numeric_limits<double>::quiet_NaN();
  }
  const auto exponent = static_cast<int>(magnitude >> F.mantissa_bits);
  const std::uint32_t fraction = magnitude & ((1U << F.mantissa_bits) - 1U);
  if (exponent == 0) return sign * fraction * power_of_two(F.min_exponent() - F.mantissa_bits);
  return sign * (fraction + (1U << F.mantissa_bits)) *
         power_of_two(exponent - F.bias() - F.mantissa_bits);
}

/// What becomes of a value beyond the largest finite one.
enum class Overflow : std::uint8_t {
  kInfinity,  ///< IEEE: rounds to infinity (formats without one: to NaN)
  kSaturate,  ///< MX / OFP8 saturation: the largest finite value, infinities too
};

/// The code nearest to `value`, ties to even; one rounding. NaN keeps no payload and no sign.
template <FloatFormat F>
constexpr std::uint32_t encode(double value, Overflow overflow) {
  if (value != value) return F.nan_code();
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint32_t sign = (bits >> 63U) != 0 ? F.sign_bit() : 0U;
  const std::uint32_t beyond = overflow == Overflow::kSaturate ? F.max_code()
                               : F.specials == Specials::kIeee ? F.infinity()
                                                               : F.nan_code();
  const double magnitude = sign != 0 ? -value : value;
  int exponent = static_cast<int>((bits >> 52U) & 0x7FFU) - 1023;
  if (exponent > F.bias() + 1) return sign | beyond;
  if (exponent < F.min_exponent()) exponent = F.min_exponent();
  // Adding and subtracting 2^52 rounds to an integer, to nearest even.
  const double steps = magnitude * power_of_two(F.mantissa_bits - exponent);
  const double rounded = steps + 0x1p52 - 0x1p52;
  const std::uint32_t code =
      (static_cast<std::uint32_t>(exponent - F.min_exponent()) << F.mantissa_bits) +
      static_cast<std::uint32_t>(rounded);
  return sign | (code > F.max_code() ? beyond : code);
}

/// e8m0: byte b is 2^(b-127), 255 is NaN. Byte 0 is 2^-127, a subnormal float.
constexpr double decode_e8m0(std::uint8_t code) {
  return code == 255 ? std::numeric_limits<double>::quiet_NaN() : power_of_two(int{code} - 127);
}

/// The e8m0 byte of 2^exponent, clamped to [-127, 127].
constexpr std::uint8_t e8m0_of_exponent(int exponent) {
  return static_cast<std::uint8_t>((exponent < -127  ? -127
                                    : exponent > 127 ? 127
                                                     : exponent) +
                                   127);
}

/// The value of one element code of any dtype but kF32; FP4 in the low four bits.
constexpr double decode(DType dtype, std::uint32_t code) {
  switch (dtype) {
    case DType::kBf16:
      return decode<kBf16Format>(code);
    case DType::kF16:
      return decode<kF16Format>(code);
    case DType::kE4m3:
      return decode<kE4m3Format>(code);
    case DType::kE5m2:
      return decode<kE5m2Format>(code);
    case DType::kE2m1:
      return decode<kE2m1Format>(code & 0xFU);
    case DType::kE8m0:
      return decode_e8m0(static_cast<std::uint8_t>(code));
    case DType::kF32:
      break;
  }
  return std::bit_cast<float>(code);
}

}  // namespace wgrad::scales
