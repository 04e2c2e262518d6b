// One operand's share of a tile, made a factor for the library's matmul step by step.
#pragma once

#include <cstdint>

#include "cpu/tiles/pack_tile.hpp"
#include "cpu/tiles/tile_decode.hpp"
#include "cpu/tiles/tile_matmul.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::cpu {

struct TilePart {
  const ExpertOperand& operand;
  TileRegion region;  ///< the tile's rows; its tokens are given step by step
  CellOrder order;
  int shift;           ///< taken out of e8m0 and float32 scales
  std::uint8_t* tile;  ///< scratch
  std::int64_t ld;     ///< of float32 tiles
};

inline TileRegion step_region(const TilePart& part, std::int64_t token, std::int64_t tokens) {
  return {part.region.row, part.region.rows, token, tokens};
}

/// As bfloat16, packed. Neither copied nor moved: it points into itself.
class Packed {
 public:
  Packed(const Problem& p, const TilePart& part)
      : part_(part),
        how_(tile_packing(part.operand, part.order, p.scales ? p.scales->vec_size : 0,
                          p.scales ? p.scales->dtype : DType::kE8m0, part.shift, storage_)) {}
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  TileFactor factor(std::int64_t token, std::int64_t tokens) const {
    pack_tile(part_.operand, how_, step_region(part_, token, tokens),
              reinterpret_cast<std::uint16_t*>(part_.tile));
    return {part_.tile, 0, part_.operand.major};
  }

 private:
  TilePart part_;
  ScaleTable storage_{};
  TilePacking how_;
};

/// As float32, in the operand's own order. Neither copied nor moved.
class Widened {
 public:
  Widened(const Problem& p, const TilePart& part) : part_(part) {
    if (!p.scales) return;
    how_.vec = p.scales->vec_size;
    how_.shift = part.shift;
    if (p.scales->dtype == DType::kF32) return;
    how_.scales = &scale_table(p.scales->dtype, part.shift, storage_);
  }
  Widened(const Widened&) = delete;
  Widened& operator=(const Widened&) = delete;

  TileFactor factor(std::int64_t token, std::int64_t tokens) const {
    decode_tile(part_.operand, how_, step_region(part_, token, tokens),
                reinterpret_cast<float*>(part_.tile), part_.ld);
    return {part_.tile, part_.ld, part_.operand.major};
  }

 private:
  TilePart part_;
  TileDecode how_;
  ScaleTable storage_{};
};

}  // namespace wgrad::cpu
