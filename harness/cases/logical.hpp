// The values of a case before they are laid out in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/cases/case.hpp"
#include "wgrad/dtype.hpp"

namespace wgrad::harness {

/// One operand as (rows, covered tokens) codes and (rows, blocks) scale codes; rows are M or N.
struct LogicalOperand {
  DType dtype = DType::kBf16;
  DType scale_dtype = DType::kE8m0;
  int vec_size = 0;  ///< 0: no scale factors, or one for each row and expert
  std::int64_t rows = 0;
  std::vector<std::int64_t> begins;        ///< first token of each expert, and the end of the last
  std::vector<std::int64_t> first_cols;    ///< first scale column of each expert, and the end
  std::vector<std::uint16_t> codes;        ///< row * tokens + t
  std::vector<std::uint32_t> scale_codes;  ///< row * cols + column
  std::vector<float> row_scales;           ///< e * rows + row, which a row's sums take; empty: none
  std::vector<float> global_scales;        ///< empty: none

  std::int64_t tokens() const { return begins.back(); }
  std::int64_t cols() const { return first_cols.back(); }
  std::uint16_t& code(std::int64_t row, std::int64_t t) { return codes[row * tokens() + t]; }
  std::uint16_t code(std::int64_t row, std::int64_t t) const { return codes[row * tokens() + t]; }
  std::uint32_t& scale_code(std::int64_t row, std::int64_t col) {
    return scale_codes[row * cols() + col];
  }
  std::uint32_t scale_code(std::int64_t row, std::int64_t col) const {
    return scale_codes[row * cols() + col];
  }
  /// The scale factor that all tokens of expert e share in a row; 1 where there is none.
  double row_scale(std::int64_t row, std::size_t e) const {
    return row_scales.empty() ? 1.0 : double{row_scales[e * static_cast<std::size_t>(rows) + row]};
  }
  /// Element times scale factors of expert e's k-th token.
  double value(std::int64_t row, std::size_t e, std::int64_t k) const;
  /// Sets an element to the code nearest to `v`.
  void set(std::int64_t row, std::int64_t t, double v);
};

struct LogicalData {
  LogicalOperand a;
  LogicalOperand b;
};

/// Draws the values of a case and lets its `adjust` have the last word.
LogicalData draw(const Case& c);

/// The code nearest to `value` in any element or output dtype.
std::uint32_t nearest_code(DType dtype, double value);

/// A code that is NaN (or infinite) in `dtype`; the largest value where it has none.
std::uint32_t poison_code(DType dtype, Poison poison);

}  // namespace wgrad::harness
