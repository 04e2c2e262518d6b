#include "cpu/elements/encodings.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/random.hpp"
#include "scales/codec.hpp"
#include "support/harness.hpp"

namespace wgrad::cpu {
namespace {

constexpr auto kInf = scales::Overflow::kInfinity;

/// Equal as bits, any NaN equal to any other.
void expect_same(float got, double want, std::uint32_t code) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << "code " << code;
  } else {
    EXPECT_EQ(static_cast<double>(got), want) << "code " << code;
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << "code " << code;
  }
}

TEST(Encodings, EveryEightBitCodeHasTheCodecsValue) {
  for (std::uint32_t code = 0; code < 256; ++code) {
    expect_same(E4m3::value(code), scales::decode<scales::kE4m3Format>(code), code);
    expect_same(E5m2::value(code), scales::decode<scales::kE5m2Format>(code), code);
  }
  for (std::uint32_t code = 0; code < 16; ++code) {
    expect_same(E2m1::value(code), scales::decode<scales::kE2m1Format>(code), code);
  }
}

TEST(Encodings, EverySixteenBitCodeHasTheCodecsValue) {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto half = static_cast<std::uint16_t>(code);
    expect_same(bf16_value(half), scales::decode<scales::kBf16Format>(code), code);
    expect_same(f16_value(half), scales::decode<scales::kF16Format>(code), code);
  }
}

template <class Check>
void for_many_floats(Check check) {
  test::Random random(11);
  for (int i = 0; i < 400000; ++i) {
    check(std::bit_cast<float>(static_cast<std::uint32_t>(random.next())));
  }
  for (std::uint32_t code = 0; code < 65536; ++code) {  // ties, neighbours, specials
    for (const std::uint32_t low :
         {0x0000U, 0x0001U, 0x1000U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      check(std::bit_cast<float>(code << 16 | low));
    }
  }
}

TEST(Encodings, RoundsToNearestEven) {
  for_many_floats([](float v) {
    if (std::isnan(v)) {
      EXPECT_TRUE(std::isnan(bf16_value(bf16_rounded(v))));
      EXPECT_TRUE(std::isnan(f16_value(f16_rounded(v))));
      return;
    }
    ASSERT_EQ(bf16_rounded(v), scales::encode<scales::kBf16Format>(v, kInf)) << v;
    ASSERT_EQ(f16_rounded(v), scales::encode<scales::kF16Format>(v, kInf)) << v;
  });
}

TEST(Encodings, SumsRoundOnce) {
  test::Random random(5);
  int differs_from_two_roundings = 0;
  for (int i = 0; i < 400000; ++i) {
    const auto a =
        std::bit_cast<float>(static_cast<std::uint32_t>(random.integer(0x3F000000, 0x41000000)));
    const float b = bf16_value(static_cast<std::uint16_t>(random.integer(0x3A00, 0x4300))) *
                    (random.chance(0.5) ? 1.0F : -1.0F);
    const auto want = scales::encode<scales::kBf16Format>(double{a} + double{b}, kInf);
    ASSERT_EQ(bf16_rounded(sum_to_odd(a, b)), want) << a << " + " << b;
    ASSERT_EQ(f16_rounded(sum_to_odd(a, b)),
              scales::encode<scales::kF16Format>(double{a} + double{b}, kInf));
    differs_from_two_roundings += bf16_rounded(a + b) != want ? 1 : 0;
  }
  EXPECT_GT(differs_from_two_roundings, 0);  // else the test could not tell
}

TEST(Encodings, DoublesNarrowOnce) {
  const float tie = 1.0F + 0x1p-8F;  // between two bf16 numbers
  EXPECT_EQ(bf16_rounded(narrow_to_odd(double{tie} + 0x1p-40)), 0x3F81);
  EXPECT_EQ(bf16_rounded(static_cast<float>(double{tie} + 0x1p-40)), 0x3F80);  // twice rounded
  EXPECT_EQ(bf16_rounded(narrow_to_odd(double{tie} - 0x1p-40)), 0x3F80);
  EXPECT_EQ(bf16_rounded(narrow_to_odd(-double{tie} - 0x1p-40)), 0xBF81);
  EXPECT_EQ(bf16_rounded(narrow_to_odd(-1e-60)), 0x8000);
  EXPECT_EQ(bf16_rounded(narrow_to_odd(1e60)), 0x7F80);
  EXPECT_EQ(bf16_rounded(narrow_to_odd(-std::numeric_limits<double>::infinity())), 0xFF80);
  EXPECT_TRUE(std::isnan(narrow_to_odd(std::numeric_limits<double>::quiet_NaN())));
}

TEST(Encodings, InfiniteSumsStay) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sum_to_odd(infinity, 1.0F), infinity);
  EXPECT_EQ(sum_to_odd(-infinity, 1.0F), -infinity);
  EXPECT_TRUE(std::isnan(sum_to_odd(infinity, -infinity)));
}

}  // namespace
}  // namespace wgrad::cpu
