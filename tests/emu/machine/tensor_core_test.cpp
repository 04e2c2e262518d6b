// The tensor core's arithmetic against what an H200 computed for the same samples.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <bit>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "emu/arithmetic/half.hpp"
#include "emu/arithmetic/multiply.hpp"
#include "emu/machine/fp8_samples.hpp"
#include "emu/machine/wgmma_samples.hpp"

namespace wgrad::emu {
namespace {

using test::SampleKind;
using test::WgmmaSample;

using Words = std::vector<std::uint32_t>;

float value_of(std::uint16_t raw, bool fp16) {
  return fp16 ? fp16_to_float(raw) : bf16_to_float(raw);
}

void multiply_sample(const WgmmaSample& s, bool fp16, float* d) {
  float a[64 * 16], b[16 * 8];
  for (int i = 0; i < 64 * 16; ++i) a[i] = value_of(s.a[i / 16][i % 16], fp16);
  for (int i = 0; i < 16 * 8; ++i) b[i] = value_of(s.b[i % 8][i / 8], fp16);
  multiply(d, a, b, kWgmmaRows, 8, fp16);
}

struct Tile {
  float d[64 * 8];
  explicit Tile(const WgmmaSample* start = nullptr) : d{} {
    for (int i = 0; start != nullptr && i < 64 * 8; ++i) {
      d[i] = std::bit_cast<float>(start->c[i / 8][i % 8]);
    }
  }
  void append_to(Words& words) const {
    for (const float value : d) words.push_back(std::bit_cast<std::uint32_t>(value));
  }
};

std::string digest(const Words& words) {
  return fmt::format("{:016x}", test::digest_words(words.data(), words.size(), test::kDigestSeed));
}

// The three columns of the record: each sample alone, chains of four, accumulators +0.
std::string digests(SampleKind kind, bool fp16) {
  Words each, chained, fresh;
  Tile chain;
  for (int i = 0; i < test::kSamplesOfKind; ++i) {
    const WgmmaSample s = test::wgmma_sample(kind, fp16, static_cast<std::uint64_t>(i));
    Tile alone(&s), zero;
    multiply_sample(s, fp16, alone.d);
    multiply_sample(s, fp16, zero.d);
    alone.append_to(each);
    zero.append_to(fresh);
    if (i % 4 == 0) chain = Tile(&s);
    multiply_sample(s, fp16, chain.d);
    if (i % 4 == 3) chain.append_to(chained);
  }
  return digest(each) + "|" + digest(chained) + "|" + digest(fresh);
}

std::map<std::string, std::string> record(const char* path) {
  std::ifstream file(path);
  std::map<std::string, std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t at = line.find('|', line.find('|') + 1);
    lines[line.substr(0, at)] = line.substr(at + 1);
  }
  return lines;
}

TEST(TensorCore, ComputesWhatAnH200Computed) {
  const auto known = record(WGRAD_WGMMA_RECORD);
  ASSERT_EQ(known.size(), 2U * test::kSampleKinds);
  for (const bool fp16 : {false, true}) {
    for (int kind = 0; kind < test::kSampleKinds; ++kind) {
      const std::string name =
          fmt::format("{}|{}", fp16 ? "fp16" : "bf16", test::kSampleKindNames[kind]);
      EXPECT_EQ(digests(static_cast<SampleKind>(kind), fp16), known.at(name)) << name;
    }
  }
}

void multiply_fp8_sample(const test::Fp8Sample& s, test::Fp8Pair pair, float* d) {
  float a[64 * 32];
  float b[32 * 8];
  for (int i = 0; i < 64 * 32; ++i) a[i] = fp8_to_float(s.a[i / 32][i % 32], pair.a != 0);
  for (int i = 0; i < 32 * 8; ++i) b[i] = fp8_to_float(s.b[i % 8][i / 8], pair.b != 0);
  const auto least = [](int e5m2) { return e5m2 != 0 ? 0x1p-14F : 0x1p-6F; };
  multiply_fp8(d, kWgmmaRows, 8, a, least(pair.a), b, least(pair.b));
}

std::string fp8_digests(test::Fp8Kind kind, test::Fp8Pair pair) {
  Words each;
  Words chained;
  std::vector<float> chain;
  const auto start = [](const test::Fp8Sample& s) {
    std::vector<float> d;
    for (int i = 0; i < 64 * 8; ++i) d.push_back(std::bit_cast<float>(s.c[i / 8][i % 8]));
    return d;
  };
  const auto append = [](const std::vector<float>& d, Words& words) {
    for (const float value : d) words.push_back(std::bit_cast<std::uint32_t>(value));
  };
  for (int i = 0; i < test::kFp8Samples; ++i) {
    const test::Fp8Sample s = test::fp8_sample(kind, pair, static_cast<std::uint64_t>(i));
    std::vector<float> alone = start(s);
    multiply_fp8_sample(s, pair, alone.data());
    append(alone, each);
    if (i % 4 == 0) chain = start(s);
    multiply_fp8_sample(s, pair, chain.data());
    if (i % 4 == 3) append(chain, chained);
  }
  return digest(each) + "|" + digest(chained);
}

TEST(TensorCore, ComputesWhatAnH200ComputedOfFp8) {
  const auto known = record(WGRAD_WGMMA_FP8_RECORD);
  ASSERT_EQ(known.size(), 4U * test::kFp8Kinds);
  for (const test::Fp8Pair pair : test::kFp8Pairs) {
    for (int kind = 0; kind < test::kFp8Kinds; ++kind) {
      const std::string name = fmt::format("{}{}|{}", pair.a, pair.b, test::kFp8KindNames[kind]);
      EXPECT_EQ(fp8_digests(static_cast<test::Fp8Kind>(kind), pair), known.at(name)) << name;
    }
  }
}

// One element: products of a[k] and 1, and an accumulator.
float sum(std::initializer_list<float> values, float c) {
  float a[64 * 16] = {}, b[16 * 8] = {}, d[64 * 8] = {};
  std::copy(values.begin(), values.end(), a);
  for (float& one : b) one = 1.0F;
  d[0] = c;
  multiply(d, a, b, kWgmmaRows, 8, false);
  return d[0];
}

TEST(TensorCore, RulesOneByOne) {
  // Cut towards zero, not rounded: 1 + 3/4 of the last place.
  EXPECT_EQ(sum({0x1.8p-24F}, 1.0F), 1.0F);
  EXPECT_EQ(sum({-0x1.8p-24F}, -1.0F), -1.0F);
  // Two further places are kept until the end: halves of the last place add up.
  EXPECT_EQ(sum({0x1p-24F, 0x1p-24F}, 1.0F), 1.0F + 0x1p-23F);
  EXPECT_EQ(sum({0x1p-25F, 0x1p-25F, 0x1p-25F, 0x1p-25F}, 1.0F), 1.0F + 0x1p-23F);
  // A third is not.
  EXPECT_EQ(
      sum({0x1p-26F, 0x1p-26F, 0x1p-26F, 0x1p-26F, 0x1p-26F, 0x1p-26F, 0x1p-26F, 0x1p-26F}, 1.0F),
      1.0F);
  // The largest exponent counts although its terms cancel.
  EXPECT_EQ(sum({0x1p30F, 1.0F, -0x1p30F}, 0.0F), 0.0F);
  EXPECT_EQ(sum({0x1p25F, 1.0F, -0x1p25F}, 0.0F), 1.0F);
}

}  // namespace
}  // namespace wgrad::emu
