#include "cpu/tiles/exponent_range.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace wgrad::cpu {
namespace {

constexpr ElementRange kE4m3Range{-9, 9};

ExponentShift shift(ExponentRange a, ExponentRange b, std::int64_t tokens = 1024) {
  return choose_shift(a, kE4m3Range, b, kE4m3Range, tokens);
}

/// The promise of exponent_range.hpp, checked on its own terms.
void expect_inside_float32(ExponentRange a, ExponentRange b, std::int64_t tokens) {
  const ExponentShift s = shift(a, b, tokens);
  ASSERT_FALSE(s.wide);
  const int low_a = a.low - 9 - s.a;
  const int low_b = b.low - 9 - s.b;
  EXPECT_GE(low_a, -126);
  EXPECT_GE(low_b, -126);
  EXPECT_GE(low_a + low_b, -126);
  const int high_a = a.high + 9 - s.a;
  const int high_b = b.high + 9 - s.b;
  EXPECT_LE(high_a, 127);
  EXPECT_LE(high_b, 127);
  int sum_bits = 0;
  while (std::int64_t{1} << sum_bits < tokens) ++sum_bits;
  EXPECT_LE(high_a + high_b + sum_bits, 127);
}

TEST(ExponentRange, OrdinaryScalesShiftNothing) {
  EXPECT_EQ(shift({-12, 3}, {-40, -20}), ExponentShift{});
  EXPECT_EQ(shift({0, 0}, {0, 0}), ExponentShift{});
}

TEST(ExponentRange, ExtremeScalesAreBroughtInside) {
  for (const ExponentRange a :
       {ExponentRange{-127, -127}, {127, 127}, {-127, -30}, {20, 127}, {0, 0}}) {
    for (const ExponentRange b : {ExponentRange{-127, -120}, {126, 127}, {-60, 20}}) {
      expect_inside_float32(a, b, 1 << 20);
    }
  }
}

TEST(ExponentRange, WhatCannotFitIsWide) {
  EXPECT_TRUE(shift({-127, 127}, {0, 0}).wide);
  EXPECT_TRUE(shift({-60, 60}, {-60, 60}).wide);
}

TEST(ExponentRange, ZerosSpanNothingButTheirPartnerMustStayFinite) {
  EXPECT_EQ(shift({}, {}), ExponentShift{});
  expect_inside_float32({0, 0}, {127, 127}, 64);
  const ExponentShift s = shift({}, {127, 127});
  EXPECT_LE(127 + 9 - s.b, 127);
}

struct OneRow {
  std::vector<std::uint8_t> elements;
  std::vector<std::uint8_t> scales;

  ExponentRange scan(DType dtype, Major major) const {
    const std::int64_t per_byte = dtype == DType::kE2m1 ? 2 : 1;
    const auto tokens = static_cast<std::int64_t>(elements.size()) * per_byte;
    ExpertOperand x;
    x.base = elements.data();
    x.ld = major == Major::kK ? tokens : 1;
    x.major = major;
    x.dtype = dtype;
    const auto blocks = static_cast<std::int64_t>(scales.size());
    x.scales = {scales.data(), {0, blocks, blocks, ScaleLayout::kCompact}};
    return scan_exponents(x, 32, 0, 1, tokens);
  }
};

TEST(ExponentRange, BlocksOfZerosAndNanScalesDoNotCount) {
  for (const Major major : {Major::kK, Major::kMn}) {
    OneRow row{std::vector<std::uint8_t>(128, 0x38), {127, 0, 255, 255}};
    for (int t = 32; t < 64; ++t) row.elements[t] = 0x80;  // minus zero
    const ExponentRange range = row.scan(DType::kE4m3, major);
    EXPECT_EQ(range.low, 0);
    EXPECT_EQ(range.high, 0);
    row.elements[63] = 1;  // the last element of the block with scale 2^-127
    EXPECT_EQ(row.scan(DType::kE4m3, major).low, -127);
  }
}

TEST(ExponentRange, Fp4NibblesAreBothLookedAt) {
  for (const std::uint8_t code : {std::uint8_t{0x10}, std::uint8_t{0x01}}) {
    OneRow row{std::vector<std::uint8_t>(32, 0x88), {254, 254}};
    EXPECT_TRUE(row.scan(DType::kE2m1, Major::kK).empty());
    row.elements[31] = code;
    EXPECT_EQ(row.scan(DType::kE2m1, Major::kK).high, 127);
  }
}

}  // namespace
}  // namespace wgrad::cpu
