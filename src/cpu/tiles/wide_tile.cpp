#include "cpu/tiles/wide_tile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cpu/elements/output_types.hpp"

namespace wgrad::cpu {
namespace {

// A sub-tile's doubles stay in the first-level cache: 2 x 8 KiB of operands, 8 KiB of sums.
constexpr std::int64_t kRows = 32;
constexpr std::int64_t kTokens = 32;
using Block = std::array<double, static_cast<std::size_t>(kRows* kTokens)>;

double element_value(const ExpertOperand& x, std::int64_t row, std::int64_t token) {
  const unsigned code = *x.at(row, token);
  switch (x.dtype) {
    case DType::kE4m3:
      return E4m3::value(code);
    case DType::kE5m2:
      return E5m2::value(code);
    default:
      return E2m1::value(token % 2 == 0 ? code & 15U : code >> 4);
  }
}

double scale_value(const ExpertOperand& x, int vec, DType scale_dtype, std::int64_t row,
                   std::int64_t token) {
  if (scale_dtype == DType::kF32) return x.scales.value(row, token / vec);
  const int code = x.scales.row(row)[x.scales.column(token / vec)];
  return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, code - 127);
}

void decode(const ExpertOperand& x, const ScaleSpec& scales, const TileRegion& r, Block& out) {
  for (std::int64_t i = 0; i < r.rows; ++i) {
    for (std::int64_t t = 0; t < r.tokens; ++t) {
      out[static_cast<std::size_t>(i * kTokens + t)] =
          element_value(x, r.row + i, r.token + t) *
          scale_value(x, scales.vec_size, scales.dtype, r.row + i, r.token + t);
    }
  }
}

void add_products(const Block& a, std::int64_t m, const Block& b, std::int64_t n,
                  std::int64_t tokens, Block& sums) {
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = sums[static_cast<std::size_t>(i * kRows + j)];
      for (std::int64_t t = 0; t < tokens; ++t) {
        sum += a[static_cast<std::size_t>(i * kTokens + t)] *
               b[static_cast<std::size_t>(j * kTokens + t)];
      }
      sums[static_cast<std::size_t>(i * kRows + j)] = sum;
    }
  }
}

template <class Out>
void store_as(std::uint8_t* to, double value, bool accumulate) {
  auto* element = reinterpret_cast<typename Out::Type*>(to);
  *element = Out::rounded(accumulate ? value + Out::load(*element) : value);
}

void store(const TileOutput& out, std::int64_t i, std::int64_t j, double sum) {
  std::uint8_t* to = out.base + (i * out.pitch + j) * bits(out.dtype) / 8;
  const double value = loops::scaled(sum, out.factor);
  switch (out.dtype) {
    case DType::kF32:
      return store_as<loops::F32Out>(to, value, out.accumulate);
    case DType::kBf16:
      return store_as<loops::Bf16Out>(to, value, out.accumulate);
    default:
      return store_as<loops::F16Out>(to, value, out.accumulate);
  }
}

}  // namespace

void sum_wide(const ExpertOperand& a, const TileRegion& m, const ExpertOperand& b,
              const TileRegion& n, const ScaleSpec& scales, const TileOutput& out) noexcept {
  for (std::int64_t i = 0; i < m.rows; i += kRows) {
    for (std::int64_t j = 0; j < n.rows; j += kRows) {
      const std::int64_t rows = std::min(kRows, m.rows - i);
      const std::int64_t cols = std::min(kRows, n.rows - j);
      Block sums{};
      for (std::int64_t t = 0; t < m.tokens; t += kTokens) {
        const std::int64_t tokens = std::min(kTokens, m.tokens - t);
        Block from_a;  // NOLINT(cppcoreguidelines-pro-type-member-init): decode() fills it
        Block from_b;  // NOLINT(cppcoreguidelines-pro-type-member-init)
        decode(a, scales, {m.row + i, rows, m.token + t, tokens}, from_a);
        decode(b, scales, {n.row + j, cols, n.token + t, tokens}, from_b);
        add_products(from_a, rows, from_b, cols, tokens, sums);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < cols; ++c) {
          store(out, i + r, j + c, sums[static_cast<std::size_t>(r * kRows + c)]);
        }
      }
    }
  }
}

}  // namespace wgrad::cpu
