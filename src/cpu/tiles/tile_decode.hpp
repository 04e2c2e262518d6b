// A rectangle of one expert's operand, decoded to float32 in thread-local scratch.
#pragma once

#include <array>
#include <cstdint>

#include "cpu/elements/lines.hpp"
#include "cpu/expert_operand.hpp"

namespace wgrad::cpu {

/// Rows and tokens of an expert; `token` is a multiple of the scale block where there are scales.
struct TileRegion {
  std::int64_t row = 0;
  std::int64_t rows = 0;
  std::int64_t token = 0;
  std::int64_t tokens = 0;
};

/// The value of every scale code.
using ScaleTable = std::array<float, 256>;

/// `shift` is subtracted from every e8m0 exponent; e4m3 scales take none. A table made for an
/// uncommon shift is written into `storage`.
const ScaleTable& scale_table(DType scale_dtype, int shift, ScaleTable& storage) noexcept;

/// How to turn elements into tile values.
struct TileDecode {
  int vec = 0;  ///< tokens a scale covers; 0: the operand has none, or they are not applied here
  const ScaleTable* scales = nullptr;  ///< of one-byte scales
  int shift = 0;                       ///< subtracted from the exponents of float32 scales
};

/// Most rows a region may have: the scales of one block of tokens are held on the stack.
constexpr std::int64_t kMaxTileRows = 1024;
/// Most tokens a region may have.
constexpr std::int64_t kMaxTileTokens = 1024;

/// Writes the region in the operand's own order: K-major as rows of tokens, MN-major as tokens of
/// rows, lines `ld` floats apart. Reads nothing outside the region.
void decode_tile(const ExpertOperand& operand, const TileDecode& how, const TileRegion& region,
                 float* tile, std::int64_t ld) noexcept;

}  // namespace wgrad::cpu
