// Where each expert's scale factors lie inside one scale tensor; the one place that knows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wgrad/problem.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::scales {

/// The scale factors of one expert.
struct ScaleBlock {
  std::int64_t base = 0;   ///< byte of the expert's first scale
  std::int64_t cols = 0;   ///< ceil(k_e / vec_size)
  std::int64_t pitch = 0;  ///< swizzled: cols rounded up to 4; compact: columns of the whole tensor
  ScaleLayout layout = ScaleLayout::kSwizzled;

  /// Byte of scale (row, col), col = (t - begin) / vec_size.
  constexpr std::int64_t offset(std::int64_t row, std::int64_t col) const noexcept {
    return base + (layout == ScaleLayout::kSwizzled ? swizzled_scale_offset(row, col, pitch)
                                                    : row * pitch + col);
  }
};

/// One block an expert, in order. `rows` is M (of A) or N (of B), `storage_cols` the declared
/// columns of a compact tensor (swizzled ones do not depend on it). Offsets must be valid.
std::vector<ScaleBlock> scale_blocks(std::span<const std::int32_t> offsets, int vec_size,
                                     std::int64_t rows, std::int64_t storage_cols,
                                     ScaleLayout layout);

}  // namespace wgrad::scales
