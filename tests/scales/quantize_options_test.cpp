// What NVFP4 may be asked for: given global scales, rounding at random, a Hadamard transform.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "scales/codec.hpp"
#include "support/refusal.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/quantize.hpp"
#include "wgrad/quantize/codes.hpp"

namespace wgrad {
namespace {

constexpr std::int64_t kTokens = 40, kRows = 3;

QuantizeSpec nvfp4() {
  QuantizeSpec spec;
  spec.format = Format::kNvfp4;
  spec.element = DType::kE2m1;
  spec.layout = ScaleLayout::kCompact;
  return spec;
}

/// One expert, K-major.
QuantizedOperand quantized(const std::vector<float>& values, const QuantizeSpec& spec) {
  const std::array<std::int32_t, 1> offsets = {kTokens};
  return quantize_along_tokens(values, kRows, kTokens, kTokens, 1, offsets, spec);
}

double element(const QuantizedOperand& q, std::int64_t row, std::int64_t token) {
  const std::int64_t at = row * kTokens + token;
  return scales::decode(DType::kE2m1, q.elements[at / 2] >> (at % 2 * 4) & 0xFU);
}
double value(const QuantizedOperand& q, std::int64_t row, std::int64_t token) {
  const double scale = scales::decode(DType::kE4m3, q.scales[row * q.scale_cols + token / 16]);
  return element(q, row, token) * scale * q.global_scales[0];
}

std::vector<float> random_values(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(kRows * kTokens);
  for (float& x : out) x = normal(random);
  return out;
}

/// Random123's known answers, kat_vectors: philox4x32 10.
TEST(Philox, KnownAnswers) {
  const auto expect = [](const shared::RandomWords& got, const std::array<shared::u32, 4>& want) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(got.word[i], want[i]);
  };
  constexpr shared::u32 kOnes = 0xFFFFFFFF;
  expect(shared::philox(0, 0, 0, 0, 0), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  expect(shared::philox(~shared::u64{0}, kOnes, kOnes, kOnes, kOnes),
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  expect(shared::philox(shared::u64{0x299f31d0} << 32U | 0xa4093822U, 0x243f6a88, 0x85a308d3,
                        0x13198a2e, 0x03707344),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(QuantizeOptions, GivenGlobalScalesAreTaken) {
  const std::vector<float> values = random_values(1);
  const QuantizedOperand computed = quantized(values, nvfp4());
  QuantizeSpec spec = nvfp4();
  spec.global_scales = computed.global_scales;
  const QuantizedOperand same = quantized(values, spec);
  EXPECT_EQ(same.elements, computed.elements);
  EXPECT_EQ(same.scales, computed.scales);
  const std::array<float, 1> other = {computed.global_scales[0] * 4};
  spec.global_scales = other;
  EXPECT_NE(quantized(values, spec).scales, computed.scales);
  EXPECT_EQ(quantized(values, spec).global_scales[0], other[0]);
  const std::array<float, 2> two = {1, 1};
  spec.global_scales = two;
  EXPECT_THROW(quantized(values, spec), ValueError);
}

/// Each element is one of the two beside the value, and the mean of many seeds is the value.
TEST(QuantizeOptions, RoundingAtRandomIsUnbiased) {
  constexpr int kSeeds = 4000;
  const std::vector<float> values = random_values(2);
  QuantizeSpec spec = nvfp4();
  const QuantizedOperand nearest = quantized(values, spec);
  std::vector<double> sums(values.size());
  for (int seed = 0; seed < kSeeds; ++seed) {
    spec.stochastic_seed = std::uint64_t{0x9E3779B97F4A7C15} * static_cast<unsigned>(seed + 1);
    const QuantizedOperand q = quantized(values, spec);
    ASSERT_EQ(q.scales, nearest.scales);
    for (std::int64_t i = 0; i < kRows * kTokens; ++i)
      sums[static_cast<std::size_t>(i)] += value(q, i / kTokens, i % kTokens);
  }
  for (std::int64_t i = 0; i < kRows * kTokens; ++i) {
    const std::int64_t row = i / kTokens, token = i % kTokens;
    const double scale = std::abs(value(nearest, row, token)) > 0
                             ? value(nearest, row, token) / element(nearest, row, token)
                             : 0.5;
    // A step is at most 2 of the scale; its mean over the seeds strays by sqrt(1 / 4 / kSeeds) of
    // it.
    const double largest = 6 * scale;
    const double want =
        std::min(std::max<double>(values[static_cast<std::size_t>(i)], -largest), largest);
    EXPECT_NEAR(sums[static_cast<std::size_t>(i)] / kSeeds, want, 2 * scale * 5 * 0.5 / 63);
  }
}

TEST(QuantizeOptions, RandomCodesAreTheNeighbours) {
  for (std::uint32_t bits = 0; bits < 0x41000000; bits += 0x4321) {
    const auto x = std::bit_cast<float>(bits);
    const double low = scales::decode(DType::kE2m1, shared::e2m1_random(x, 0));
    const double high = scales::decode(DType::kE2m1, shared::e2m1_random(x, 0xFFFF));
    ASSERT_LE(low, x);
    ASSERT_TRUE(high >= x - 0x1p-15 || high == 6) << x;
    ASSERT_LE(shared::e2m1_random(x, 0xFFFF) - shared::e2m1_random(x, 0), 1U);
    ASSERT_EQ(shared::e2m1_random(-x, 0x1234), shared::e2m1_random(x, 0x1234) | 8U);
  }
}

TEST(QuantizeOptions, SeedsRepeatAndDiffer) {
  const std::vector<float> values = random_values(3);
  QuantizeSpec spec = nvfp4();
  spec.stochastic_seed = 5;
  const QuantizedOperand first = quantized(values, spec);
  EXPECT_EQ(quantized(values, spec).elements, first.elements);
  spec.stochastic_seed = std::uint64_t{5} << 32U;
  EXPECT_NE(quantized(values, spec).elements, first.elements);
}

/// Against the matrix, in double: rows of signs by the parity of i & j.
TEST(QuantizeOptions, HadamardBlocksAreTheMatrixTimesTheBlock) {
  constexpr shared::u32 kSigns = 0xB38D;
  const std::vector<float> values = random_values(4);
  std::array<float, 16> block{};
  std::copy_n(values.begin(), 16, block.begin());
  shared::hadamard_block(block.data(), kSigns);
  for (unsigned i = 0; i < 16; ++i) {
    double want = 0;
    for (unsigned j = 0; j < 16; ++j) {
      const bool negative = (std::popcount(i & j) + (kSigns >> j & 1U)) % 2 != 0;
      want += (negative ? -0.25 : 0.25) * values[j];
    }
    EXPECT_NEAR(block[i], want, 1e-6);
  }
}

/// Both operands alike: sums over the tokens stay what they were. The last 8 tokens are no block.
TEST(QuantizeOptions, TheTransformCancelsOutOfProducts) {
  const std::vector<float> values = random_values(5);
  QuantizeSpec spec = nvfp4();
  spec.hadamard_seed = 11;
  const QuantizedOperand q = quantized(values, spec);
  const QuantizedOperand plain = quantized(values, nvfp4());
  const auto product = [](const auto& x, std::int64_t i, std::int64_t j) {
    double sum = 0;
    for (std::int64_t t = 0; t < kTokens; ++t) sum += x(i, t) * x(j, t);
    return sum;
  };
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kRows; ++j) {
      const double want = product(
          [&](std::int64_t r, std::int64_t t) {
            return double{values[static_cast<std::size_t>(r * kTokens + t)]};
          },
          i, j);
      const double got =
          product([&](std::int64_t r, std::int64_t t) { return value(q, r, t); }, i, j);
      EXPECT_NEAR(got, want, 0.15 * kTokens);
    }
  }
  EXPECT_NE(q.elements, plain.elements);
  spec.hadamard_seed = 12;
  EXPECT_NE(quantized(values, spec).elements, q.elements);
}

TEST(QuantizeOptions, OtherFormatsHaveNoneOfThem) {
  const std::vector<float> values(kRows * kTokens);
  const std::array<float, 1> scale = {1};
  for (int option = 0; option < 3; ++option) {
    QuantizeSpec spec;
    if (option == 0) spec.stochastic_seed = 1;
    if (option == 1) spec.hadamard_seed = 1;
    if (option == 2) spec.global_scales = scale;
    EXPECT_THROW(quantized(values, spec), ValueError) << option;
  }
}

}  // namespace
}  // namespace wgrad
