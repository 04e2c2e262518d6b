// A tile summed in double: for scales whose exponents float32 cannot hold side by side.
#pragma once

#include "cpu/tiles/tile_decode.hpp"

namespace wgrad::cpu {

/// Where a tile of Wgrad lies and how it is written.
struct TileOutput {
  std::uint8_t* base = nullptr;  ///< element (0, 0) of the tile
  std::int64_t pitch = 0;        ///< elements between rows
  DType dtype = DType::kF32;
  bool accumulate = false;
  double factor = 1;    ///< global scales, and powers of two taken out of the tile
  bool scaled = false;  ///< whether `factor` applies
};

/// Block-scaled operands only; `m` and `n` are regions over the same tokens. Slow, but exact to
/// double rounding for every e8m0 or float32 scale of a block of tokens.
void sum_wide(const ExpertOperand& a, const TileRegion& m, const ExpertOperand& b,
              const TileRegion& n, const ScaleSpec& scales, const TileOutput& out) noexcept;

}  // namespace wgrad::cpu
