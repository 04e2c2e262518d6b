#include "cpu/elements/cells.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "cpu/elements/encodings.hpp"
#include "harness/random.hpp"
#include "scales/codec.hpp"
#include "support/harness.hpp"

namespace wgrad::cpu {
namespace {

struct Kind {
  DType element;
  int vec;
  Major major;
  CellOrder order;
};

std::vector<Kind> kinds() {
  std::vector<Kind> out;
  for (const CellOrder order : {CellOrder::kRows, CellOrder::kPairs}) {
    for (const Major major : {Major::kK, Major::kMn}) {
      out.push_back({DType::kBf16, 0, major, order});
      out.push_back({DType::kE4m3, 32, major, order});
      out.push_back({DType::kE5m2, 32, major, order});
    }
    out.push_back({DType::kE2m1, 32, Major::kK, order});
    out.push_back({DType::kE2m1, 16, Major::kK, order});
  }
  return out;
}

std::string text(const Kind& k) {
  return std::string(name(k.element)) + " vec " + std::to_string(k.vec) +
         (k.major == Major::kK ? " K-major" : " MN-major") +
         (k.order == CellOrder::kRows ? " as rows" : " as pairs");
}

/// A cell's bytes, lines `pitch` apart, its scales, and room for a packed cell with a margin.
struct Bench {
  static constexpr std::int64_t kPitch = 80;
  static constexpr std::int64_t kGap = 96;  ///< codes between vectors
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(32 * kPitch + 64);
  std::array<float, 32> scales{};
  alignas(64) std::array<std::uint16_t, 16 * kGap> out{};

  Cell cell(int rows = 16, int tokens = 32) const {
    return {bytes.data(), kPitch, rows, tokens, scales.data()};
  }
  const auto& pack(const Kind& k, const Cell& from, bool portable) {
    out.fill(0xABCD);
    pack_cell(k.element, k.major, k.vec, k.order, portable)(from, out.data(), kGap);
    return out;
  }
  void draw(test::Random& random) {
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  }
};

/// What the oracle's codec makes of the element at (row, token), under its scale.
double expected(const Kind& k, const Bench& bench, int row, int token) {
  const std::int64_t line = k.major == Major::kK ? row : token;
  const std::int64_t place = k.major == Major::kK ? token : row;
  const std::uint8_t* from = bench.bytes.data() + line * Bench::kPitch;
  const double scale =
      k.vec == 0 ? 1
                 : static_cast<double>(bench.scales[static_cast<std::size_t>(token / k.vec) * 16 +
                                                    static_cast<std::size_t>(row)]);
  switch (k.element) {
    case DType::kE4m3:
      return scales::decode<scales::kE4m3Format>(from[place]) * scale / 256;
    case DType::kE5m2:
      return scales::decode<scales::kE5m2Format>(from[place]) * scale;
    case DType::kE2m1:
      return scales::decode<scales::kE2m1Format>(token % 2 == 0 ? from[place / 2] & 15U
                                                                : from[place / 2] >> 4) *
             scale;
    default:
      return scales::decode<scales::kBf16Format>(
          static_cast<std::uint32_t>(from[2 * place] | from[2 * place + 1] << 8));
  }
}

std::uint16_t packed(const Kind& k, const Bench& bench, int row, int token) {
  const int at = k.order == CellOrder::kRows
                     ? row * static_cast<int>(Bench::kGap) + token
                     : token / 2 * static_cast<int>(Bench::kGap) + 2 * row + token % 2;
  return bench.out[static_cast<std::size_t>(at)];
}

bool is_nan(std::uint16_t code) {
  return (code & 0x7FFFU) > 0x7F80U;
}

TEST(Cells, EveryCodeUnderEveryScaleOfItsRange) {
  for (const Kind& k : kinds()) {
    Bench bench;
    test::Random random(5);
    for (int exponent = -100; exponent <= 100; ++exponent) {
      bench.draw(random);  // 512 elements a round: each byte value comes about 400 times
      for (auto& scale : bench.scales) {
        scale = std::ldexp(
            k.vec == 16 ? 1.0F + 0.125F * static_cast<float>(random.integer(0, 7)) : 1.0F,
            exponent);
      }
      bench.pack(k, bench.cell(), false);
      for (int row = 0; row < 16; ++row) {
        for (int token = 0; token < 32; ++token) {
          const double want = expected(k, bench, row, token);
          const std::uint16_t got = packed(k, bench, row, token);
          if (std::isnan(want)) {
            ASSERT_TRUE(is_nan(got)) << text(k);
          } else {
            ASSERT_EQ(static_cast<double>(bf16_value(got)), want)
                << text(k) << " row " << row << " token " << token;
            ASSERT_EQ(std::signbit(bf16_value(got)), std::signbit(want)) << text(k);
          }
        }
      }
    }
  }
}

TEST(Cells, ANanScaleMakesNanOfZerosInItsBlockAlone) {
  for (const Kind& k : kinds()) {
    if (k.vec == 0) continue;
    Bench bench;
    bench.scales.fill(1.0F);
    bench.scales[3] = std::nanf("");
    bench.pack(k, bench.cell(16, 31), false);
    for (int row = 0; row < 16; ++row) {
      for (int token = 0; token < 32; ++token) {
        EXPECT_EQ(is_nan(packed(k, bench, row, token)), row == 3 && token < std::min(k.vec, 31))
            << text(k) << " row " << row << " token " << token;
      }
    }
  }
}

TEST(Cells, WhatLiesOutsideIsNeitherReadNorKept) {
  for (const Kind& k : kinds()) {
    Bench bench;
    test::Random random(6);
    bench.scales.fill(1.0F);
    for (const int rows : {0, 1, 15, 16}) {
      for (const int tokens : {1, 2, 15, 16, 17, 31, 32}) {
        bench.draw(random);
        bench.pack(k, bench.cell(rows, tokens), false);
        for (int row = 0; row < 16; ++row) {
          const bool written = k.order == CellOrder::kPairs || row < rows;
          for (int token = 0; token < 32; ++token) {
            const std::uint16_t got = packed(k, bench, row, token);
            if (!written) {
              ASSERT_EQ(got, 0xABCD) << text(k);
            } else if (row >= rows || token >= tokens) {
              ASSERT_EQ(got, 0) << text(k);
            } else if (!is_nan(got)) {
              ASSERT_EQ(static_cast<double>(bf16_value(got)), expected(k, bench, row, token))
                  << text(k);
            }
          }
        }
      }
    }
  }
}

/// On a CPU with AVX-512 the tests above judge the vectors; this one says so, and that the loops
/// any other machine runs agree with them.
TEST(Cells, VectorsEqualThePlainLoops) {
  if (std::string(cell_instruction_set()) != "avx512") GTEST_SKIP() << "this CPU has no AVX-512";
  for (const Kind& k : kinds()) {
    Bench bench;
    test::Random random(7);
    for (int i = 0; i < 50; ++i) {
      bench.draw(random);
      for (auto& scale : bench.scales)
        scale = std::ldexp(1.0F, static_cast<int>(random.integer(0, 8)));
      const int rows = i < 25 ? 16 : static_cast<int>(random.integer(0, 16));
      const int tokens = i < 25 ? 32 : 1 + static_cast<int>(random.integer(0, 31));
      const auto vectors = bench.pack(k, bench.cell(rows, tokens), false);
      const auto& plain = bench.pack(k, bench.cell(rows, tokens), true);
      for (std::size_t at = 0; at < plain.size(); ++at) {
        if (is_nan(plain[at]) && k.element != DType::kBf16) {
          ASSERT_TRUE(is_nan(vectors[at]) || plain[at] == 0xABCD) << text(k);
        } else {
          ASSERT_EQ(vectors[at], plain[at]) << text(k) << " at " << at;
        }
      }
    }
  }
}

}  // namespace
}  // namespace wgrad::cpu
