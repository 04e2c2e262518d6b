#include "scales/codec.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "scales/encode_float.hpp"

namespace wgrad::scales {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A second opinion: the value of a code from its fields, by the library's ldexp.
double value_of(int exponent_bits, int mantissa_bits, unsigned code) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto mantissa = code % (1U << mantissa_bits);
  const auto exponent = static_cast<int>(code >> mantissa_bits) % (1 << exponent_bits);
  const bool negative = (code >> (exponent_bits + mantissa_bits)) % 2 != 0;
  const double significand = std::ldexp(mantissa, -mantissa_bits) + (exponent == 0 ? 0.0 : 1.0);
  const double magnitude = std::ldexp(significand, std::max(exponent, 1) - bias);
  return negative ? -magnitude : magnitude;
}

void expect_same(double got, double want, unsigned code) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << "code " << code;
  } else {
    EXPECT_EQ(got, want) << "code " << code;
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << "code " << code;
  }
}

TEST(Codec, E4m3DecodesEveryByte) {
  for (unsigned code = 0; code < 256; ++code) {
    const double want = (code & 0x7FU) == 0x7FU ? kNan : value_of(4, 3, code);
    expect_same(decode<kE4m3Format>(code), want, code);
    expect_same(decode(DType::kE4m3, code), want, code);
  }
  EXPECT_EQ(decode<kE4m3Format>(0x7E), 448.0);
}

TEST(Codec, E5m2DecodesEveryByte) {
  for (unsigned code = 0; code < 256; ++code) {
    const unsigned magnitude = code & 0x7FU;
    double want = value_of(5, 2, code);
    if (magnitude == 0x7CU) want = code < 128 ? kInf : -kInf;
    if (magnitude > 0x7CU) want = kNan;
    expect_same(decode<kE5m2Format>(code), want, code);
    expect_same(decode(DType::kE5m2, code), want, code);
  }
  EXPECT_EQ(decode<kE5m2Format>(0x7B), 57344.0);
}

TEST(Codec, E2m1DecodesEveryNibble) {
  constexpr double kValues[] = {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0};
  for (unsigned code = 0; code < 16; ++code) {
    const double want = code < 8 ? kValues[code] : -kValues[code - 8];
    expect_same(decode<kE2m1Format>(code), want, code);
    expect_same(decode(DType::kE2m1, code), want, code);
  }
}

TEST(Codec, E8m0DecodesEveryByte) {
  for (unsigned code = 0; code < 256; ++code) {
    const double want = code == 255 ? kNan : std::ldexp(1.0, static_cast<int>(code) - 127);
    expect_same(decode_e8m0(static_cast<std::uint8_t>(code)), want, code);
    expect_same(decode(DType::kE8m0, code), want, code);
  }
  EXPECT_EQ(decode(DType::kE8m0, 0), std::ldexp(1.0F, -127)) << "a subnormal, not zero";
  EXPECT_EQ(e8m0_of_exponent(-500), 0);
  EXPECT_EQ(e8m0_of_exponent(0), 127);
  EXPECT_EQ(e8m0_of_exponent(500), 254);
}

TEST(Codec, Bf16IsTheUpperHalfOfAFloat) {
  for (std::uint32_t code = 0; code < 65536; ++code) {
    expect_same(decode<kBf16Format>(code), std::bit_cast<float>(code << 16U), code);
  }
}

TEST(Codec, F16DecodesEveryCode) {
  for (unsigned code = 0; code < 65536; ++code) {
    const unsigned magnitude = code & 0x7FFFU;
    double want = value_of(5, 10, code);
    if (magnitude == 0x7C00U) want = code < 0x8000U ? kInf : -kInf;
    if (magnitude > 0x7C00U) want = kNan;
    expect_same(decode<kF16Format>(code), want, code);
  }
}

/// Finite values of a format in increasing order; index = code of the positive ones.
template <FloatFormat F>
std::vector<double> positive_values() {
  std::vector<double> values;
  for (std::uint32_t code = 0; code <= F.max_code(); ++code) values.push_back(decode<F>(code));
  return values;
}

template <FloatFormat F>
void check_encode() {
  const auto values = positive_values<F>();
  for (std::uint32_t code = 0; code < values.size(); ++code) {
    EXPECT_EQ(encode<F>(values[code], Overflow::kSaturate), code);
    EXPECT_EQ(encode<F>(-values[code], Overflow::kSaturate), code | F.sign_bit());
    if (code + 1 == values.size()) break;
    const double next = values[code + 1];
    const double middle = (values[code] + next) / 2;
    EXPECT_EQ(encode<F>(middle, Overflow::kSaturate), code + code % 2) << "a tie goes to even";
    EXPECT_EQ(encode<F>(std::nextafter(middle, 0.0), Overflow::kSaturate), code);
    EXPECT_EQ(encode<F>(std::nextafter(middle, kInf), Overflow::kSaturate), code + 1);
    EXPECT_EQ(encode<F>(-middle, Overflow::kSaturate), (code + code % 2) | F.sign_bit());
  }
}

TEST(Codec, EncodeRoundsToNearestEven) {
  check_encode<kBf16Format>();
  check_encode<kF16Format>();
  check_encode<kE4m3Format>();
  check_encode<kE5m2Format>();
  check_encode<kE2m1Format>();
}

TEST(Codec, EncodeSaturatesOrOverflows) {
  EXPECT_EQ(encode<kE4m3Format>(464.0, Overflow::kInfinity), 0x7EU) << "a tie goes to even";
  EXPECT_EQ(encode<kE4m3Format>(464.1, Overflow::kSaturate), 0x7EU);
  EXPECT_EQ(encode<kE4m3Format>(464.1, Overflow::kInfinity), 0x7FU) << "no infinity: NaN";
  EXPECT_EQ(encode<kE4m3Format>(-1e300, Overflow::kSaturate), 0xFEU);
  EXPECT_EQ(encode<kE4m3Format>(kInf, Overflow::kSaturate), 0x7EU);
  EXPECT_EQ(encode<kE5m2Format>(61440.0, Overflow::kSaturate), 0x7BU);
  EXPECT_EQ(encode<kE5m2Format>(61440.0, Overflow::kInfinity), 0x7CU);
  EXPECT_EQ(encode<kE5m2Format>(-kInf, Overflow::kInfinity), 0xFCU);
  EXPECT_EQ(encode<kE2m1Format>(7.5, Overflow::kSaturate), 7U);
  EXPECT_EQ(encode<kE2m1Format>(-kInf, Overflow::kSaturate), 0xFU);
  EXPECT_EQ(encode<kF16Format>(65519.9, Overflow::kInfinity), 0x7BFFU);
  EXPECT_EQ(encode<kF16Format>(65520.0, Overflow::kInfinity), 0x7C00U);
  EXPECT_EQ(encode<kBf16Format>(3.4e38, Overflow::kInfinity), 0x7F80U);
}

TEST(Codec, EncodeKeepsNan) {
  EXPECT_EQ(encode<kBf16Format>(kNan, Overflow::kInfinity), 0x7FC0U);
  EXPECT_EQ(encode<kF16Format>(-kNan, Overflow::kInfinity), 0x7E00U);
  EXPECT_EQ(encode<kE4m3Format>(kNan, Overflow::kSaturate), 0x7FU);
  EXPECT_EQ(encode<kE5m2Format>(kNan, Overflow::kSaturate), 0x7EU);
}

template <FloatFormat F>
void check_float_encoder() {
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32U); bits += 8191) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(encode_saturating<F>(value), encode<F>(value, Overflow::kSaturate)) << value;
  }
  const auto values = positive_values<F>();
  for (std::size_t code = 0; code + 1 < values.size(); ++code) {
    const auto middle = static_cast<float>((values[code] + values[code + 1]) / 2);
    for (const float v : {middle, std::nextafter(middle, 0.0F), std::nextafter(middle, 1e9F)}) {
      ASSERT_EQ(encode_saturating<F>(v), encode<F>(v, Overflow::kSaturate)) << v;
      ASSERT_EQ(encode_saturating<F>(-v), encode<F>(-v, Overflow::kSaturate)) << -v;
    }
  }
}

TEST(Codec, TheFloatEncoderAgreesWithEncode) {
  check_float_encoder<kE4m3Format>();
  check_float_encoder<kE5m2Format>();
  check_float_encoder<kE2m1Format>();
}

}  // namespace
}  // namespace wgrad::scales
