// A rectangle of one expert's operand as bfloat16, laid out as the library multiplies it.
#pragma once

#include <cstdint>

#include "cpu/elements/cells.hpp"
#include "cpu/expert_operand.hpp"
#include "cpu/tiles/tile_decode.hpp"

namespace wgrad::cpu {

/// Rows of B that lie side by side in a packed tile.
constexpr std::int64_t kPairBlockRows = 64;

/// How to pack one operand; made once for a tile.
struct TilePacking {
  CellOrder order = CellOrder::kRows;
  PackCell pack = nullptr;
  int vec = 0;                         ///< tokens a scale covers; 0: the operand has no scales
  const ScaleTable* scales = nullptr;  ///< needed where there are scales
};

/// `shift` as for scale_table(), which may write into `storage`.
TilePacking tile_packing(const ExpertOperand& operand, CellOrder order, int vec, DType scale_dtype,
                         int shift, ScaleTable& storage) noexcept;

/// Writes all tokens of the region, rounded up to whole cells with zeros (k in all):
/// - kRows: row after row, k codes each;
/// - kPairs: blocks of 64 rows (the last one filled up with zeros); in each, blocks of 32 tokens;
///   in these, pairs of tokens; in each pair, the rows, both tokens side by side.
/// `region.row` is a multiple of 16; `to` is aligned to 64 bytes.
void pack_tile(const ExpertOperand& operand, const TilePacking& how, const TileRegion& region,
               std::uint16_t* to) noexcept;

}  // namespace wgrad::cpu
