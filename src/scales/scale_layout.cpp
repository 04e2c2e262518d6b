#include "wgrad/scale_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/counted.hpp"
#include "core/saturating.hpp"
#include "scales/offsets.hpp"
#include "scales/scale_blocks.hpp"
#include "wgrad/errors.hpp"

namespace wgrad {
namespace {

void check_length(const char* field, std::size_t got, std::int64_t need) {
  if (static_cast<std::int64_t>(got) < need) {
    throw ValueError(
        fmt::format("wgrad: {} is {} long; it must be at least {} long for these rows "
                    "and offsets",
                    field, core::counted(got, "byte"), core::counted(need, "byte")));
  }
}

struct Extents {
  std::int64_t compact_cols = 0;
  std::int64_t swizzled_bytes = 0;
};

Extents checked_extents(std::int64_t rows, std::span<const std::int32_t> offsets, int vec_size,
                        std::size_t compact_bytes, std::size_t swizzled_bytes) {
  if (rows < 0) throw ValueError(fmt::format("wgrad: rows is {}; it must be 0 or more", rows));
  scales::check_offsets(offsets, std::numeric_limits<std::int32_t>::max());
  const std::int64_t cols = scale_cols(offsets, vec_size, ScaleLayout::kCompact);
  const std::int64_t padded = scale_cols(offsets, vec_size, ScaleLayout::kSwizzled);
  if (cols == 0) return {};
  check_length("compact", compact_bytes, core::saturating_multiply(rows, cols));
  const Extents extents{cols, scale_bytes(rows, padded, ScaleLayout::kSwizzled)};
  check_length("swizzled", swizzled_bytes, extents.swizzled_bytes);
  return extents;
}

/// Calls visit(compact byte, swizzled byte) for every scale.
template <typename Visit>
void for_each_scale(std::int64_t rows, std::span<const std::int32_t> offsets, int vec_size,
                    std::int64_t compact_cols, Visit visit) {
  if (compact_cols == 0) return;  // then nothing bounds the rows
  const auto from =
      scales::scale_blocks(offsets, {rows, compact_cols, vec_size, ScaleLayout::kCompact});
  const auto to = scales::scale_blocks(offsets, {rows, 0, vec_size, ScaleLayout::kSwizzled});
  for (std::size_t e = 0; e < from.size(); ++e) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t col = 0; col < from[e].cols; ++col) {
        visit(static_cast<std::size_t>(from[e].offset(row, col)),
              static_cast<std::size_t>(to[e].offset(row, col)));
      }
    }
  }
}

}  // namespace

std::int64_t scale_cols(std::span<const std::int32_t> offsets, int vec_size, ScaleLayout layout) {
  if (vec_size < 1) {
    throw ValueError(fmt::format("wgrad: vec_size is {}; it must be 1 or more", vec_size));
  }
  std::int64_t cols = 0;
  std::int64_t begin = 0;
  for (const std::int64_t end : offsets) {
    cols += scales::scale_columns(end - begin, vec_size, layout);
    begin = end;
  }
  return cols;
}

void swizzle_scales(std::span<const std::uint8_t> compact, std::int64_t rows,
                    std::span<const std::int32_t> offsets, int vec_size,
                    std::span<std::uint8_t> swizzled, std::uint8_t padding) {
  const Extents extents = checked_extents(rows, offsets, vec_size, compact.size(), swizzled.size());
  std::fill_n(swizzled.begin(), extents.swizzled_bytes, padding);
  for_each_scale(rows, offsets, vec_size, extents.compact_cols,
                 [&](std::size_t from, std::size_t to) { swizzled[to] = compact[from]; });
}

void unswizzle_scales(std::span<const std::uint8_t> swizzled, std::int64_t rows,
                      std::span<const std::int32_t> offsets, int vec_size,
                      std::span<std::uint8_t> compact) {
  const Extents extents = checked_extents(rows, offsets, vec_size, compact.size(), swizzled.size());
  for_each_scale(rows, offsets, vec_size, extents.compact_cols,
                 [&](std::size_t to, std::size_t from) { compact[to] = swizzled[from]; });
}

}  // namespace wgrad
