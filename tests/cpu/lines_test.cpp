#include "cpu/elements/lines.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "cpu/elements/encodings.hpp"

namespace wgrad::cpu {
namespace {

std::vector<std::uint8_t> all_bytes() {
  std::vector<std::uint8_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

float element(DType dtype, const std::vector<std::uint8_t>& bytes, std::int64_t i) {
  if (dtype == DType::kE4m3) return E4m3::value(bytes[i]);
  if (dtype == DType::kE5m2) return E5m2::value(bytes[i]);
  return E2m1::value(i % 2 == 0 ? bytes[i / 2] & 15U : bytes[i / 2] >> 4);
}

bool same(float got, float want) {
  return got == want || (std::isnan(got) && std::isnan(want));
}

TEST(Lines, AlongTokensEveryLengthAndCode) {
  const auto bytes = all_bytes();
  for (const DType dtype : {DType::kE4m3, DType::kE5m2, DType::kE2m1}) {
    for (const int vec : {16, 32}) {
      for (std::int64_t n = 0; n <= 256; n += n < 70 ? 1 : 31) {
        std::vector<float> scales(16);
        for (int b = 0; b < 16; ++b) scales[b] = std::ldexp(1.0F, b - 7);
        std::vector<float> out(257, -77.0F);
        scale_along(dtype)(bytes.data(), scales.data(), vec, out.data(), n);
        for (std::int64_t i = 0; i < n; ++i) {
          ASSERT_TRUE(same(out[i], element(dtype, bytes, i) * scales[i / vec]))
              << name(dtype) << " vec " << vec << " n " << n << " i " << i;
        }
        ASSERT_EQ(out[n], -77.0F) << "written past its end";
      }
    }
  }
}

TEST(Lines, AcrossRowsEachElementHasItsOwnScale) {
  const auto bytes = all_bytes();
  std::vector<float> scales(256);
  for (int i = 0; i < 256; ++i) scales[i] = std::ldexp(1.0F, i % 90 - 45);
  for (const DType dtype : {DType::kE4m3, DType::kE5m2}) {
    std::vector<float> out(256);
    scale_across(dtype)(bytes.data(), scales.data(), out.data(), 256);
    for (std::int64_t i = 0; i < 256; ++i) {
      ASSERT_TRUE(same(out[i], element(dtype, bytes, i) * scales[i])) << name(dtype) << " " << i;
    }
  }
}

TEST(Lines, ANanScaleMakesNanOfZeroToo) {
  const std::vector<std::uint8_t> zeros(32, 0);
  const float nan = std::nanf("");
  for (const DType dtype : {DType::kE4m3, DType::kE5m2, DType::kE2m1}) {
    std::vector<float> out(32);
    scale_along(dtype)(zeros.data(), &nan, 32, out.data(), 32);
    EXPECT_TRUE(std::isnan(out[31])) << name(dtype);
  }
}

TEST(Lines, StoresScaleAccumulateAndRound) {
  const std::vector<float> sums(40, 1.0F + 0x1p-8F);
  std::vector<std::uint16_t> out(41, 0x3F80);  // bf16 1.0
  store_line(DType::kBf16, false, Scaling::kNone)(sums.data(), 0, out.data(), 40);
  EXPECT_EQ(out[0], 0x3F80);  // the tie goes to even
  store_line(DType::kBf16, true, Scaling::kNone)(sums.data(), 0, out.data(), 40);
  EXPECT_EQ(bf16_value(out[39]), 2.0F);
  store_line(DType::kBf16, true, Scaling::kFloat)(sums.data(), 128.0, out.data(), 40);
  EXPECT_EQ(bf16_value(out[39]), 130.0F);  // 2 + 128.5, a tie
  EXPECT_EQ(out[40], 0x3F80);
}

TEST(Lines, AZeroSumStaysZeroUnderAnInfiniteGlobalScale) {
  const std::vector<float> sums(8, 0.0F);
  std::vector<float> out(8, 9.0F);
  store_line(DType::kF32, false, scaling_for(INFINITY))(sums.data(), INFINITY, out.data(), 8);
  EXPECT_EQ(out, sums);
}

}  // namespace
}  // namespace wgrad::cpu
