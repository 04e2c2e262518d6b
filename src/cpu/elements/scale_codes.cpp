#include "cpu/elements/scale_codes.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace wgrad::cpu {
namespace {

constexpr std::int64_t kLineRows = kScaleAtomRows / 32;          // 32 rows apart from one another
constexpr std::int64_t kLineBytes = kLineRows * kScaleAtomCols;  // one line of an atom
using Codes = std::uint8_t __attribute__((vector_size(kLineBytes)));

struct Spans {
  Codes low = Codes{} - 1;
  Codes high = Codes{};

  void add(const std::uint8_t* line, Codes counts) {
    Codes codes;
    std::memcpy(&codes, line, sizeof codes);
    const Codes for_low = codes | ~counts;
    const Codes for_high = codes & counts;
    low = for_low < low ? for_low : low;
    high = for_high > high ? for_high : high;
  }
  CodeSpan span() const {
    CodeSpan out;
    for (std::int64_t i = 0; i < kLineBytes; ++i) {
      out.low = std::min(out.low, static_cast<std::uint8_t>(low[i]));
      out.high = std::max(out.high, static_cast<std::uint8_t>(high[i]));
    }
    return out;
  }
};

/// For each line of the atoms from row `first`: ones where a byte's row is in [begin, end) and its
/// column below `cols`.
std::array<Codes, 32> counting(std::int64_t first, std::int64_t begin, std::int64_t end,
                               std::int64_t cols) {
  std::array<Codes, 32> out{};
  if (begin <= first && first + kScaleAtomRows <= end && cols >= kScaleAtomCols) {
    out.fill(~Codes{});
    return out;
  }
  for (std::int64_t i = 0; i < 32; ++i) {
    for (std::int64_t byte = 0; byte < kLineBytes; ++byte) {
      const std::int64_t row = first + byte / kScaleAtomCols * 32 + i;
      const bool counts = row >= begin && row < end && byte % kScaleAtomCols < cols;
      out[static_cast<std::size_t>(i)][byte] = counts ? 0xFF : 0;
    }
  }
  return out;
}

void add_atom(const std::uint8_t* atom, const std::array<Codes, 32>& counts, Spans& spans) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    spans.add(atom + i * static_cast<std::size_t>(kLineBytes), counts[i]);
  }
}

CodeSpan swizzled_span(const ExpertScales& scales, std::int64_t row, std::int64_t rows,
                       std::int64_t blocks) {
  Spans spans;
  const std::int64_t whole = blocks / kScaleAtomCols * kScaleAtomCols;
  for (std::int64_t first = row / kScaleAtomRows * kScaleAtomRows; first < row + rows;
       first += kScaleAtomRows) {
    const std::uint8_t* atoms = scales.row(first);
    const auto counts = counting(first, row, row + rows, kScaleAtomCols);
    for (std::int64_t b = 0; b < whole; b += kScaleAtomCols) {
      add_atom(atoms + scales.column(b), counts, spans);
    }
    if (whole == blocks) continue;
    add_atom(atoms + scales.column(whole), counting(first, row, row + rows, blocks - whole), spans);
  }
  return spans.span();
}

CodeSpan compact_span(const ExpertScales& scales, std::int64_t row, std::int64_t rows,
                      std::int64_t blocks) {
  CodeSpan out;
  for (std::int64_t r = row; r < row + rows; ++r) {
    const std::uint8_t* codes = scales.row(r);
    for (std::int64_t b = 0; b < blocks; ++b) {
      out.low = std::min(out.low, codes[b]);
      out.high = std::max(out.high, codes[b]);
    }
  }
  return out;
}

}  // namespace

CodeSpan code_span(const ExpertScales& scales, std::int64_t row, std::int64_t rows,
                   std::int64_t blocks) noexcept {
  if (rows <= 0 || blocks <= 0) return {};
  return scales.block.layout == ScaleLayout::kSwizzled ? swizzled_span(scales, row, rows, blocks)
                                                       : compact_span(scales, row, rows, blocks);
}

}  // namespace wgrad::cpu
