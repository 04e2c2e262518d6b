#include "scales/scale_blocks.hpp"

namespace wgrad::scales {

std::vector<ScaleBlock> scale_blocks(std::span<const std::int32_t> offsets, int vec_size,
                                     std::int64_t rows, std::int64_t storage_cols,
                                     ScaleLayout layout) {
  std::vector<ScaleBlock> blocks;
  blocks.reserve(offsets.size());
  const bool swizzled = layout == ScaleLayout::kSwizzled;
  std::int64_t begin = 0;
  std::int64_t base = 0;
  for (const std::int64_t end : offsets) {
    const std::int64_t cols = ceil_div(end - begin, vec_size);
    const std::int64_t padded = round_up(cols, kScaleAtomCols);
    blocks.push_back({base, cols, swizzled ? padded : storage_cols, layout});
    base += swizzled ? round_up(rows, kScaleAtomRows) * padded : cols;
    begin = end;
  }
  return blocks;
}

}  // namespace wgrad::scales
