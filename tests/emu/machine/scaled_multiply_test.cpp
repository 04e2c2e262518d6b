// The sums of block-scaled multiplications, where rounding shows: cut after 25 places (bytes) and
// 35 (packed FP4), after scale factors; special values. The rules are those of models fitted to a
// B200 (emu/README.md); the figures here are worked out by hand from them.
#include "emu/arithmetic/scaled_multiply.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace wgrad::emu {
namespace {

using shared::ElementType;
using shared::ScaleType;

constexpr std::uint8_t kOne = 0x38;  // e4m3
constexpr std::uint8_t kUnit = 127;  // e8m0

/// One row, zeros but the first codes.
ScaledOperand bytes(std::initializer_list<std::uint8_t> codes, std::uint8_t scale,
                    ElementType type = ElementType::kE4m3) {
  ScaledOperand x{type, 8, std::vector<std::uint8_t>(8 * 32, 0),
                  std::vector<std::uint8_t>(8, scale)};
  std::copy(codes.begin(), codes.end(), x.codes.begin());
  return x;
}
float first_of(const ScaledOperand& a, const ScaledOperand& b, float d) {
  std::vector<float> out(64, d);
  multiply_mxf8f6f4(out.data(), a, b);
  return out[0];
}

TEST(Mxf8f6f4, CutsAtTwentyFivePlaces) {
  // A small product beside a large one that D takes away again.
  const auto pair = [](std::uint8_t scale, float d) {  // 2^(2 (scale - 127)) + 2^-12 of it
    return first_of(bytes({kOne, 0x08}, scale), bytes({kOne, 0x08}, scale), d);  // 0x08 is 2^-6
  };
  EXPECT_EQ(pair(kUnit, -1.0F), 0x1p-12F);
  const auto beside = [](std::uint8_t large, float d) {  // large^2 + 2^-15
    return first_of(bytes({large, 0x01}, kUnit), bytes({large, 0x08}, kUnit), d);
  };
  EXPECT_EQ(beside(0x60, -0x1p10F), 0x1p-15F);   // 32 * 32: places down to 2^-15
  EXPECT_EQ(beside(0x68, -0x1p12F), 0.0F);       // 64 * 64: down to 2^-13
  EXPECT_EQ(pair(kUnit + 7, -0x1p14F), 0x1p2F);  // scale factors are added to the exponents
}

TEST(Mxf8f6f4, FarScaleFactorsStayExact) {
  EXPECT_EQ(first_of(bytes({kOne}, 247), bytes({kOne}, 7), 0), 1.0F);  // 2^120 * 2^-120
  EXPECT_EQ(first_of(bytes({kOne}, 254), bytes({kOne}, 128), 0),
            std::numeric_limits<float>::infinity());
  EXPECT_EQ(first_of(bytes({kOne}, 0), bytes({kOne}, 105), 0), std::ldexp(1.0F, -149));
  EXPECT_EQ(first_of(bytes({kOne}, 0), bytes({kOne}, 104), 0), 0.0F);
}

TEST(Mxf8f6f4, NanAndInfinity) {
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  EXPECT_EQ(bits(first_of(bytes({kOne}, 255), bytes({kOne}, kUnit), 1)), 0x7fffffffU);
  EXPECT_EQ(bits(first_of(bytes({0x7f}, kUnit), bytes({kOne}, kUnit), 1)), 0x7fffffffU);
  EXPECT_EQ(bits(first_of(bytes({0x7c}, kUnit, ElementType::kE5m2), bytes({kOne}, kUnit), 1)),
            0x7f800000U);
  EXPECT_EQ(bits(first_of(bytes({0x7c}, kUnit, ElementType::kE5m2), bytes({0}, kUnit), 1)),
            0x7fffffffU);
}

constexpr std::uint8_t kOneOfFour = 2;  // e2m1

ScaledOperand packed(std::initializer_list<std::uint8_t> first_of_groups,
                     std::initializer_list<std::uint8_t> scales) {
  ScaledOperand x{ElementType::kE2m1, 8, std::vector<std::uint8_t>(8 * 64, 0), {}};
  std::size_t at = 0;
  for (const std::uint8_t code : first_of_groups) {
    x.codes[at] = code;
    at += 16;
  }
  for (int row = 0; row < 8; ++row) x.scales.insert(x.scales.end(), scales.begin(), scales.end());
  return x;
}
float first_of(const ScaledOperand& a, const ScaledOperand& b, ScaleType type, float d) {
  std::vector<float> out(64, d);
  multiply_mxf4(out.data(), a, b, type);
  return out[0];
}

TEST(Mxf4, CutsAtThirtyFivePlaces) {
  const std::uint8_t one = kOneOfFour, minus = kOneOfFour | 8;
  // 2^(2 * scale) in the first half, 1/4 (two halves) in the second; D takes the first away.
  const auto kept = [&](std::uint8_t scale) {
    return first_of(packed({one, 0, 1, 0}, {scale, kUnit}), packed({one, 0, 1, 0}, {scale, kUnit}),
                    ScaleType::kE8m0, -std::ldexp(1.0F, 2 * (scale - kUnit)));
  };
  EXPECT_EQ(kept(kUnit + 16), 0.25F);  // 2^32, and places down to 2^-3
  EXPECT_EQ(kept(kUnit + 17), 0.0F);   // 2^34: down to 2^-1
  EXPECT_EQ(first_of(packed({one, minus, 0, 0}, {kUnit, kUnit}),
                     packed({one, one, 0, 0}, {kUnit, kUnit}), ScaleType::kE8m0, 5),
            5.0F);
}

TEST(Mxf4, E4m3ScaleFactorsHaveNoSign) {
  const std::uint8_t one = kOneOfFour;
  const auto value = [&](std::uint8_t scale) {
    return first_of(packed({one, 0, 0, 0}, {scale, 0x38, 0x38, 0x38}),
                    packed({one, 0, 0, 0}, {0x3c, 0x38, 0x38, 0x38}), ScaleType::kE4m3, 0.5F);
  };
  EXPECT_EQ(value(0x40), 3.5F);  // 2 * 1.5 + 0.5
  EXPECT_EQ(value(0xc0), 3.5F);
  EXPECT_EQ(value(0), 0.5F);
  EXPECT_EQ(value(1), 0.5F + 1.5F * 0x1p-9F);
  EXPECT_TRUE(std::isnan(value(0x7f)));
}

TEST(Mxf4, FourE8m0ScaleFactorsOfARowEachTakeTheirGroup) {
  const std::uint8_t one = kOneOfFour;
  const ScaledOperand b = packed({one, one, one, one}, {kUnit, kUnit, kUnit, kUnit + 1});
  const auto value = [&](std::uint8_t last) {
    return first_of(packed({one, one, one, one}, {kUnit - 1, kUnit, kUnit + 1, last}), b,
                    ScaleType::kE8m0, 0);
  };
  EXPECT_EQ(value(kUnit + 2), 0.5F + 1 + 2 + 8);
  EXPECT_TRUE(std::isnan(value(0xff)));
}

}  // namespace
}  // namespace wgrad::emu
