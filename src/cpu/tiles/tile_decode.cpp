#include "cpu/tiles/tile_decode.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "cpu/elements/cells.hpp"
#include "cpu/elements/encodings.hpp"

namespace wgrad::cpu {
namespace {

constexpr int kNanCode = 255;

/// Clamping touches only blocks of zeros: choose_shift() keeps all others in range.
constexpr float e8m0_value(int code, int shift) {
  if (code == kNanCode) return std::numeric_limits<float>::quiet_NaN();
  const int exponent = std::clamp(code - shift, 1, 254);
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent) << 23);
}

void fill_e8m0(ScaleTable& table, int shift) {
  for (int code = 0; code < 256; ++code) {
    table[static_cast<std::size_t>(code)] = e8m0_value(code, shift);
  }
}

ScaleTable e8m0_table(int shift) {
  ScaleTable table{};
  fill_e8m0(table, shift);
  return table;
}

ScaleTable e4m3_table() {
  ScaleTable table{};
  for (std::uint32_t code = 0; code < 256; ++code) table[code] = E4m3::value(code);
  return table;
}

struct Lines {
  std::int64_t count;   ///< lines in the region
  std::int64_t length;  ///< elements in each
};

Lines lines_of(const ExpertOperand& x, const TileRegion& r) {
  return x.major == Major::kK ? Lines{r.rows, r.tokens} : Lines{r.tokens, r.rows};
}

const std::uint8_t* line(const ExpertOperand& x, const TileRegion& r, std::int64_t i) {
  return x.major == Major::kK ? x.at(r.row + i, r.token) : x.at(r.row, r.token + i);
}

/// Lines are a leading dimension apart, which hardware prefetchers do not follow.
void prefetch_line(const ExpertOperand& x, const TileRegion& r, std::int64_t i) {
  const std::int64_t ahead = x.major == Major::kK ? 6 : 16;  // lines of tokens are the longer ones
  const Lines lines = lines_of(x, r);
  if (i + ahead >= lines.count) return;
  const std::uint8_t* from = line(x, r, i + ahead);
  const std::int64_t bytes = lines.length * bits(x.dtype) / 8;
  for (std::int64_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(from + byte);
}

void decode_sixteen_bit(const ExpertOperand& x, const TileRegion& r, float* tile, std::int64_t ld) {
  const Lines lines = lines_of(x, r);
  const WidenLine widen = widen_line(x.dtype);
  for (std::int64_t i = 0; i < lines.count; ++i) {
    prefetch_line(x, r, i);
    widen(line(x, r, i), tile + i * ld, lines.length);
  }
}

/// Rows of FP8 under scales of 128 tokens, one byte or a float32 each, or under none.
void decode_by_rows(const ExpertOperand& x, const TileDecode& how, const TileRegion& r, float* tile,
                    std::int64_t ld) {
  constexpr int kStep = 32;                          // tokens that the loop below gives a scale
  std::array<float, kMaxTileTokens / kStep> scales;  // NOLINT: written below, as far as it is read
  const ScaleAlong scale = scale_along(x.dtype);
  const auto value = [&](std::int64_t row, std::int64_t token) {
    if (how.vec == 0) return 1.0F;
    const std::int64_t index = token / how.vec;
    if (how.scales != nullptr) return (*how.scales)[x.scales.row(row)[x.scales.column(index)]];
    return std::ldexp(x.scales.value(row, index), -how.shift);
  };
  for (std::int64_t i = 0; i < r.rows; ++i) {
    prefetch_line(x, r, i);
    for (std::int64_t t = 0; t < r.tokens; t += kStep) {
      scales[static_cast<std::size_t>(t / kStep)] = value(r.row + i, r.token + t);
    }
    scale(x.at(r.row + i, r.token), scales.data(), kStep, tile + i * ld, r.tokens);
  }
}

void decode_k_major(const ExpertOperand& x, const TileDecode& how, const TileRegion& r, float* tile,
                    std::int64_t ld) {
  std::array<float, kMaxTileTokens / 16> scales;  // NOLINT: written below, as far as it is read
  const ScaleTable& table = *how.scales;
  const ScaleAlong scale = scale_along(x.dtype);
  const std::int64_t first = r.token / how.vec;
  const std::int64_t blocks = ceil_div(r.tokens, how.vec);
  for (std::int64_t i = 0; i < r.rows; ++i) {
    prefetch_line(x, r, i);
    const std::uint8_t* codes = x.scales.row(r.row + i);
    for (std::int64_t b = 0; b < blocks; ++b) {
      scales[static_cast<std::size_t>(b)] = table[codes[x.scales.column(first + b)]];
    }
    scale(x.at(r.row + i, r.token), scales.data(), how.vec, tile + i * ld, r.tokens);
  }
}

void decode_mn_major(const ExpertOperand& x, const TileDecode& how, const TileRegion& r,
                     float* tile, std::int64_t ld) {
  std::array<float, kMaxTileRows> scales;  // NOLINT: written below, as far as it is read
  const ScaleTable& table = *how.scales;
  const ScaleAcross scale = scale_across(x.dtype);
  for (std::int64_t t = 0; t < r.tokens; t += how.vec) {
    const std::int64_t column = x.scales.column((r.token + t) / how.vec);
    for (std::int64_t i = 0; i < r.rows; ++i) {
      scales[static_cast<std::size_t>(i)] = table[x.scales.row(r.row + i)[column]];
    }
    const std::int64_t end = std::min(t + how.vec, r.tokens);
    for (std::int64_t u = t; u < end; ++u) {
      prefetch_line(x, r, u);
      scale(x.at(r.row, r.token + u), scales.data(), tile + u * ld, r.rows);
    }
  }
}

}  // namespace

const ScaleTable& scale_table(DType scale_dtype, int shift, ScaleTable& storage) noexcept {
  static const ScaleTable kE4m3 = e4m3_table();
  static const ScaleTable kE8m0 = e8m0_table(0);
  static const ScaleTable kUnderE4m3 = e8m0_table(-kE4m3ScaleExponent);
  if (scale_dtype == DType::kE4m3) return kE4m3;
  if (shift == 0) return kE8m0;
  if (shift == -kE4m3ScaleExponent) return kUnderE4m3;
  fill_e8m0(storage, shift);
  return storage;
}

void decode_tile(const ExpertOperand& operand, const TileDecode& how, const TileRegion& region,
                 float* tile, std::int64_t ld) noexcept {
  if (how.vec == 0 && bits(operand.dtype) == 16) {
    decode_sixteen_bit(operand, region, tile, ld);
  } else if (how.vec == 0 || how.vec == 128) {
    decode_by_rows(operand, how, region, tile, ld);
  } else if (operand.major == Major::kK) {
    decode_k_major(operand, how, region, tile, ld);
  } else {
    decode_mn_major(operand, how, region, tile, ld);
  }
}

}  // namespace wgrad::cpu
