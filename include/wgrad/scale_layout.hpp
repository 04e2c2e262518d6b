// Where scale factors lie. Source: cuBLAS "1D block scaling factors layout", 128x4 atoms.
#pragma once

#include <cstdint>
#include <span>

#include "wgrad/problem.hpp"

namespace wgrad {

constexpr std::int64_t kScaleAtomRows = 128;  ///< rows of an atom
constexpr std::int64_t kScaleAtomCols = 4;    ///< scale columns of an atom
constexpr std::int64_t kScaleAtomBytes = kScaleAtomRows * kScaleAtomCols;  ///< one byte a scale

/// a / b rounded up, for a >= 0 and b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return (a + b - 1) / b;
}
/// The least multiple of b that is not below a, for a >= 0 and b > 0.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) noexcept {
  return ceil_div(a, b) * b;
}

/// Byte of scale (row, col) inside one expert's swizzled block whose padded column count is
/// `padded_cols` (a multiple of 4): atoms run over column blocks fastest, then row blocks.
constexpr std::int64_t swizzled_scale_offset(std::int64_t row, std::int64_t col,
                                             std::int64_t padded_cols) noexcept {
  const std::int64_t atom =
      (row / kScaleAtomRows) * (padded_cols / kScaleAtomCols) + col / kScaleAtomCols;
  const std::int64_t in_atom = (row % 32) * 16 + (row / 32 % 4) * 4 + col % kScaleAtomCols;
  return atom * kScaleAtomBytes + in_atom;
}

/// Scale columns that the storage of `offsets` (cumulative ends) needs:
/// sum over experts of ceil(k_e / vec), each rounded up to 4 when swizzled. Throws ValueError for a
/// vec_size below 1.
std::int64_t scale_cols(std::span<const std::int32_t> offsets, int vec_size, ScaleLayout layout);

/// Bytes of a scale tensor of `rows` rows (M for A, N for B) and `cols` columns.
constexpr std::int64_t scale_bytes(std::int64_t rows, std::int64_t cols,
                                   ScaleLayout layout) noexcept {
  return (layout == ScaleLayout::kSwizzled ? round_up(rows, kScaleAtomRows) : rows) * cols;
}

/// Rewrites compact scales, (rows, scale_cols(offsets, vec_size, kCompact)), as swizzled ones, per
/// expert. `padding` fills padded bytes.
/// Throws ValueError where a span is too short, offsets decrease, rows < 0 or vec_size < 1.
void swizzle_scales(std::span<const std::uint8_t> compact, std::int64_t rows,
                    std::span<const std::int32_t> offsets, int vec_size,
                    std::span<std::uint8_t> swizzled, std::uint8_t padding = 0);

/// The inverse of swizzle_scales().
void unswizzle_scales(std::span<const std::uint8_t> swizzled, std::int64_t rows,
                      std::span<const std::int32_t> offsets, int vec_size,
                      std::span<std::uint8_t> compact);

}  // namespace wgrad
