#include "cpu/tiles/pack_tile.hpp"

#include <algorithm>

namespace wgrad::cpu {
namespace {

/// One tile's packing: where each of its cells comes from and goes to.
class Packer {
 public:
  Packer(const ExpertOperand& x, const TilePacking& how, const TileRegion& r, std::uint16_t* to)
      : x_(x), how_(how), r_(r), to_(to), k_(round_up(r.tokens, kCellTokens)) {}

  /// Cells in the order in which the operand lies in memory.
  void run() const {
    const std::int64_t rows =
        round_up(r_.rows, how_.order == CellOrder::kPairs ? kPairBlockRows : kCellRows);
    if (x_.major == Major::kK) {
      for (std::int64_t row = 0; row < rows; row += kCellRows) {
        for (std::int64_t token = 0; token < k_; token += kCellTokens) pack(row, token);
      }
    } else {
      for (std::int64_t token = 0; token < k_; token += kCellTokens) {
        for (std::int64_t row = 0; row < rows; row += kCellRows) pack(row, token);
      }
    }
  }

 private:
  void pack(std::int64_t row, std::int64_t token) const {
    float scales[2 * kCellRows];  // NOLINT(cppcoreguidelines-pro-type-member-init)
    Cell cell;
    cell.rows = static_cast<int>(std::clamp<std::int64_t>(r_.rows - row, 0, kCellRows));
    cell.tokens = static_cast<int>(std::min(r_.tokens - token, kCellTokens));
    cell.from = x_.at(r_.row + row, r_.token + token);
    cell.pitch = x_.ld * bits(x_.dtype) / 8;
    prefetch(row, token);
    if (how_.vec != 0) {
      fill(cell, row, token, scales);
      cell.scales = scales;
    }
    if (how_.order == CellOrder::kRows) {
      how_.pack(cell, to_ + row * k_ + token, k_);
    } else {
      const std::int64_t block = row / kPairBlockRows * (k_ / kCellTokens) + token / kCellTokens;
      how_.pack(cell, to_ + block * kPairBlockRows * kCellTokens + row % kPairBlockRows * 2,
                2 * kPairBlockRows);
    }
  }

  /// Sixteen rows of a swizzled scale atom are equally far apart, as compact ones are.
  void fill(const Cell& cell, std::int64_t row, std::int64_t token, float* scales) const {
    const std::uint8_t* first = x_.scales.row(r_.row + row);
    const std::int64_t step = x_.scales.row(r_.row + row + 1) - first;
    for (std::int64_t block = 0; block < kCellTokens / how_.vec; ++block) {
      float* to = scales + block * kCellRows;
      const std::int64_t at = token + block * how_.vec;
      const std::int64_t rows = at < r_.tokens ? cell.rows : 0;
      const std::uint8_t* codes = first + x_.scales.column((r_.token + at) / how_.vec);
      for (std::int64_t i = 0; i < rows; ++i) to[i] = (*how_.scales)[codes[i * step]];
      std::fill(to + rows, to + kCellRows, 0.0F);
    }
  }

  /// The lines of the next cell across the operand's lines, which are too short for the hardware
  /// to foresee; once for each 64 bytes.
  void prefetch(std::int64_t row, std::int64_t token) const {
    const std::int64_t per_line = 64 * 8 / bits(x_.dtype);
    if (x_.major == Major::kK) {
      if (token % per_line != 0) return;
      const std::int64_t end = std::min(row + 2 * kCellRows, r_.rows);
      for (std::int64_t i = row + kCellRows; i < end; ++i) {
        __builtin_prefetch(x_.at(r_.row + i, r_.token + token));
      }
    } else {
      if (row % per_line != 0 || row >= r_.rows) return;
      const std::int64_t end = std::min(token + 2 * kCellTokens, r_.tokens);
      for (std::int64_t t = token + kCellTokens; t < end; ++t) {
        __builtin_prefetch(x_.at(r_.row + row, r_.token + t));
      }
    }
  }

  const ExpertOperand& x_;
  const TilePacking& how_;
  const TileRegion& r_;
  std::uint16_t* to_;
  std::int64_t k_;
};

}  // namespace

TilePacking tile_packing(const ExpertOperand& x, CellOrder order, int vec, DType scale_dtype,
                         int shift, ScaleTable& storage) noexcept {
  TilePacking how;
  how.order = order;
  how.pack = pack_cell(x.dtype, x.major, vec, order);
  how.vec = vec;
  if (vec == 0) return how;
  const int extra = x.dtype == DType::kE4m3 ? kE4m3ScaleExponent : 0;
  how.scales = &scale_table(scale_dtype, shift - extra, storage);
  return how;
}

void pack_tile(const ExpertOperand& operand, const TilePacking& how, const TileRegion& region,
               std::uint16_t* to) noexcept {
  Packer(operand, how, region, to).run();
}

}  // namespace wgrad::cpu
