#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "wgrad/codec.hpp"

namespace wgrad {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(PublicCodec, EveryCodeOfEveryDtypeSurvivesTheRoundTrip) {
  for (const DType dtype :
       {DType::kBf16, DType::kF16, DType::kE4m3, DType::kE5m2, DType::kE2m1, DType::kE8m0}) {
    for (std::uint32_t code = 0; code < 1U << bits(dtype); ++code) {
      const double value = decode(dtype, code);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode(dtype, encode(dtype, value)))) << name(dtype) << ' ' << code;
      } else {
        EXPECT_EQ(encode(dtype, value), code) << name(dtype);
      }
    }
  }
}

TEST(PublicCodec, RoundsToNearestEven) {
  EXPECT_EQ(decode(DType::kBf16, encode(DType::kBf16, 1 + 0x1p-8)), 1.0);
  EXPECT_EQ(decode(DType::kBf16, encode(DType::kBf16, 1 + 0x3p-8)), 1 + 0x1p-6);
  EXPECT_EQ(decode(DType::kF16, encode(DType::kF16, 1 + 0x1p-11)), 1.0);
  EXPECT_EQ(decode(DType::kF32, encode(DType::kF32, 1 + 0x3p-24)), 1 + 0x1p-22);
  EXPECT_EQ(decode(DType::kE8m0, encode(DType::kE8m0, 5.0)), 4.0);
  EXPECT_EQ(decode(DType::kE8m0, encode(DType::kE8m0, 7.0)), 8.0);
}

TEST(PublicCodec, OverflowIsInfinityOrTheLargestFiniteValue) {
  EXPECT_EQ(decode(DType::kBf16, encode(DType::kBf16, 1e300)), kInf);
  EXPECT_EQ(decode(DType::kF16, encode(DType::kF16, -65536.0)), -kInf);
  EXPECT_EQ(decode(DType::kE5m2, encode(DType::kE5m2, 1e6)), kInf);
  EXPECT_EQ(decode(DType::kE4m3, encode(DType::kE4m3, 1e6)), 448.0);
  EXPECT_EQ(decode(DType::kE2m1, encode(DType::kE2m1, -7.0)), -6.0);
  EXPECT_EQ(decode(DType::kE8m0, encode(DType::kE8m0, kInf)), 0x1p127);
  EXPECT_TRUE(std::isnan(decode(DType::kE8m0, encode(DType::kE8m0, -1.0))));
}

}  // namespace
}  // namespace wgrad
