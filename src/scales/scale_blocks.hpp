// Where each expert's scale factors lie inside one scale tensor; the one place that knows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wgrad/problem.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::scales {

/// Columns that an expert of `tokens` tokens takes up: padded to 4 when swizzled. One where a scale
/// factor covers all of them.
constexpr std::int64_t scale_columns(std::int64_t tokens, int vec_size,
                                     ScaleLayout layout) noexcept {
  if (vec_size == kAllTokens) return 1;
  const std::int64_t cols = ceil_div(tokens, vec_size);
  return layout == ScaleLayout::kSwizzled ? round_up(cols, kScaleAtomCols) : cols;
}

/// What all experts' scale factors in one tensor have in common.
struct ScaleStorage {
  std::int64_t rows = 0;  ///< M (of A) or N (of B)
  std::int64_t cols = 0;  ///< declared columns of a compact tensor; swizzled ones do not matter
  int vec_size = 32;
  ScaleLayout layout = ScaleLayout::kSwizzled;
};

/// The scale factors of one expert.
struct ScaleBlock {
  std::int64_t base = 0;   ///< of the expert's first scale; in scales, as are the offsets below
  std::int64_t cols = 0;   ///< ceil(k_e / vec_size)
  std::int64_t pitch = 0;  ///< swizzled: cols rounded up to 4; compact: columns of the whole tensor
  ScaleLayout layout = ScaleLayout::kSwizzled;

  /// The place of scale (row, col), col = (t - begin) / vec_size, is the sum of these.
  constexpr std::int64_t row_offset(std::int64_t row) const noexcept {
    return base +
           (layout == ScaleLayout::kSwizzled ? swizzled_scale_offset(row, 0, pitch) : row * pitch);
  }
  constexpr std::int64_t col_offset(std::int64_t col) const noexcept {
    return layout == ScaleLayout::kSwizzled ? swizzled_scale_offset(0, col, pitch) : col;
  }
  constexpr std::int64_t offset(std::int64_t row, std::int64_t col) const noexcept {
    return row_offset(row) + col_offset(col);
  }
};

/// The block of an expert of `tokens` tokens before which others took up `cols_before` columns.
constexpr ScaleBlock scale_block(const ScaleStorage& storage, std::int64_t cols_before,
                                 std::int64_t tokens) noexcept {
  if (storage.vec_size == kAllTokens)
    return {storage.rows * cols_before, 1, 1, ScaleLayout::kCompact};
  const bool swizzled = storage.layout == ScaleLayout::kSwizzled;
  const std::int64_t rows_before = swizzled ? round_up(storage.rows, kScaleAtomRows) : 1;
  return {rows_before * cols_before, ceil_div(tokens, storage.vec_size),
          swizzled ? scale_columns(tokens, storage.vec_size, storage.layout) : storage.cols,
          storage.layout};
}

/// One block an expert, in order. Offsets must be valid.
std::vector<ScaleBlock> scale_blocks(std::span<const std::int32_t> offsets,
                                     const ScaleStorage& storage);

}  // namespace wgrad::scales
