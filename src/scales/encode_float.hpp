// Saturating float-to-code rounding without branches, for loops that the compiler vectorises.
#pragma once

#include <bit>
#include <cstdint>

#include "scales/codec.hpp"

namespace wgrad::scales {

/// encode<F>(value, kSaturate) for a finite `value`; F has at most 8 bits.
template <FloatFormat F>
constexpr std::uint8_t encode_saturating(float value) {
  constexpr int kShift = 23 - F.mantissa_bits;
  constexpr auto kRebias = static_cast<std::int32_t>(127 - F.bias()) << F.mantissa_bits;
  constexpr auto kMinNormal = static_cast<std::int32_t>(127 + F.min_exponent()) << 23;
  // One unit in the last place of this number is the format's smallest subnormal.
  constexpr auto kMagic = static_cast<std::int32_t>(
      static_cast<std::uint32_t>(127 + 23 + F.min_exponent() - F.mantissa_bits) << 23U);
  constexpr auto kMaxCode = static_cast<std::int32_t>(F.max_code());

  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::int32_t>((bits >> 31U) * F.sign_bit());
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7FFFFFFFU);
  const std::int32_t round = ((magnitude >> kShift) & 1) + ((1 << (kShift - 1)) - 1);
  const std::int32_t normal = static_cast<std::int32_t>((static_cast<std::uint32_t>(magnitude) +
                                                         static_cast<std::uint32_t>(round)) >>
                                                        static_cast<unsigned>(kShift)) -
                              kRebias;
  const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic);
  const std::int32_t subnormal = std::bit_cast<std::int32_t>(shifted) - kMagic;
  const std::int32_t clamped = normal < kMaxCode ? normal : kMaxCode;
  return static_cast<std::uint8_t>((magnitude < kMinNormal ? subnormal : clamped) + sign);
}

}  // namespace wgrad::scales
