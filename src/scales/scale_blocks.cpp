#include "scales/scale_blocks.hpp"

namespace wgrad::scales {

std::vector<ScaleBlock> scale_blocks(std::span<const std::int32_t> offsets,
                                     const ScaleStorage& storage) {
  std::vector<ScaleBlock> blocks;
  blocks.reserve(offsets.size());
  std::int64_t begin = 0;
  std::int64_t cols = 0;
  for (const std::int64_t end : offsets) {
    blocks.push_back(scale_block(storage, cols, end - begin));
    cols += scale_columns(end - begin, storage.vec_size, storage.layout);
    begin = end;
  }
  return blocks;
}

}  // namespace wgrad::scales
