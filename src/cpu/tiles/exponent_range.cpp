#include "cpu/tiles/exponent_range.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cpu/elements/encodings.hpp"
#include "cpu/elements/scale_codes.hpp"

namespace wgrad::cpu {
namespace {

constexpr int kNormalLow = -126;  // the smallest normal float32 is 2^-126
constexpr int kNormalHigh = 127;  // below 2^127, one exponent of slack
constexpr int kBias = 127;
constexpr int kNanCode = 255;

/// Beyond these an all-zero block would cost a shift for nothing (quantisers give zero blocks the
/// scale byte 0), so its elements are looked at.
constexpr int kOrdinaryLow = -40;
constexpr int kOrdinaryHigh = 24;

bool is_ordinary(int exponent) {
  return exponent >= kOrdinaryLow && exponent <= kOrdinaryHigh;
}

/// A value without its sign is zero exactly when the other bits are.
bool is_zero_block(const ExpertOperand& x, std::int64_t row, std::int64_t token,
                   std::int64_t count) {
  const bool fp4 = x.dtype == DType::kE2m1;
  const std::int64_t step = x.major == Major::kK ? 1 : x.ld;
  const std::uint8_t* from = x.at(row, token);
  unsigned any = 0;
  if (!fp4) {
    for (std::int64_t i = 0; i < count; ++i) any |= from[i * step] & 0x7FU;
    return any == 0;
  }
  for (std::int64_t i = 0; i < count / 2; ++i) any |= from[i] & 0x77U;
  if (count % 2 != 0) any |= from[count / 2] & 0x07U;
  return any == 0;
}

/// Everything a scaled operand spans: multiples of 2^low, below 2^high.
struct Span {
  int low;
  int high;
};

/// An operand of zeros spans nothing, but its partner must still not become infinite: 0 x Inf.
Span span_of(const ExponentRange& scales, const ElementRange& element) {
  if (scales.empty()) return {0, 0};
  return {scales.low + element.lowest, scales.high + element.highest};
}

bool fits(const Span& a, const Span& b, int sum_bits) {
  return a.low >= kNormalLow && b.low >= kNormalLow && a.high <= kNormalHigh &&
         b.high <= kNormalHigh && a.low + b.low >= kNormalLow &&
         a.high + b.high + sum_bits <= kNormalHigh;
}

Span shifted(const Span& x, int shift) {
  return {x.low - shift, x.high - shift};
}

}  // namespace

ElementRange element_range(DType element) noexcept {
  switch (element) {
    case DType::kE4m3:
      return {E4m3::kLowest, E4m3::kHighest};
    case DType::kE5m2:
      return {E5m2::kLowest, E5m2::kHighest};
    default:
      return {E2m1::kLowest, E2m1::kHighest};
  }
}

ExponentRange scan_exponents(const ExpertOperand& x, int vec, std::int64_t row, std::int64_t rows,
                             std::int64_t tokens) noexcept {
  ExponentRange out;
  const std::int64_t blocks = ceil_div(tokens, vec);
  const CodeSpan span = code_span(x.scales, row, rows, blocks);
  if (is_ordinary(span.low - kBias) && is_ordinary(span.high - kBias)) {
    return {span.low - kBias, span.high - kBias};
  }
  for (std::int64_t r = row; r < row + rows; ++r) {
    const std::uint8_t* codes = x.scales.row(r);
    for (std::int64_t block = 0; block < blocks; ++block) {
      const int code = codes[x.scales.column(block)];
      const int exponent = code - kBias;
      if (exponent >= out.low && exponent <= out.high) continue;
      if (code == kNanCode) continue;
      const std::int64_t token = block * vec;
      if (!is_ordinary(exponent) &&
          is_zero_block(x, r, token, std::min<std::int64_t>(vec, tokens - token))) {
        continue;
      }
      out.low = std::min(out.low, exponent);
      out.high = std::max(out.high, exponent);
    }
  }
  return out;
}

ExponentRange scan_float_exponents(const ExpertOperand& x, int vec, std::int64_t row,
                                   std::int64_t rows, std::int64_t tokens) noexcept {
  ExponentRange out;
  for (std::int64_t r = row; r < row + rows; ++r) {
    for (std::int64_t token = 0; token < tokens; token += vec) {
      const float scale = x.scales.value(r, token / vec);
      if (scale == 0 || !std::isfinite(scale)) continue;
      const int exponent = std::ilogb(scale);
      if (exponent >= out.low && exponent < out.high) continue;
      if (!is_ordinary(exponent) &&
          is_zero_block(x, r, token, std::min<std::int64_t>(vec, tokens - token))) {
        continue;
      }
      out.low = std::min(out.low, exponent);
      out.high = std::max(out.high, exponent + 1);
    }
  }
  return out;
}

ExponentShift choose_shift(const ExponentRange& a, const ElementRange& a_element,
                           const ExponentRange& b, const ElementRange& b_element,
                           std::int64_t tokens) noexcept {
  const Span span_a = span_of(a, a_element);
  const Span span_b = span_of(b, b_element);
  const auto sum_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(tokens)));
  if (fits(span_a, span_b, sum_bits)) return {};
  // Products are centred in the range that is left below the growth of the sum.
  ExponentShift shift;
  shift.a = (span_a.low + span_a.high) / 2 + sum_bits / 4;
  shift.b = (span_b.low + span_b.high) / 2 + sum_bits / 2 - sum_bits / 4;
  shift.wide = !fits(shifted(span_a, shift.a), shifted(span_b, shift.b), sum_bits);
  if (shift.wide) return {0, 0, true};
  return shift;
}

}  // namespace wgrad::cpu
