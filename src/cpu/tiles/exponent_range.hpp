// Keeps e8m0-scaled products inside float32: which powers of two to take out of a tile.
//
// An e8m0 scale spans 2^-127 .. 2^127, so a scaled element may lie outside the normal float32 (and
// bfloat16) range although its products with the other operand do not. Every sum is exact to
// float32 rounding when no scaled element, product or partial sum can leave the normal range:
// subnormals would be flushed by bfloat16 instructions, overflows would never come back. Where the
// scales of a tile allow it as they are, nothing is shifted; else a power of two is taken out of
// each operand and put back into the result; where even that cannot hold (the exponents of one
// tile spread over more than about 2^250), the tile is summed in double.
#pragma once

#include <climits>
#include <cstdint>

#include "cpu/expert_operand.hpp"

namespace wgrad::cpu {

/// Scale exponents of the blocks that hold anything but zeros; NaN scales do not count.
struct ExponentRange {
  int low = INT_MAX;
  int high = INT_MIN;

  bool empty() const noexcept { return low > high; }
};

/// What the elements themselves span: multiples of 2^lowest, below 2^highest.
struct ElementRange {
  int lowest = 0;
  int highest = 0;
};
ElementRange element_range(DType element) noexcept;

/// Scans the scales of `rows` rows from `row`, blocks of `vec` tokens; all of `tokens`.
ExponentRange scan_exponents(const ExpertOperand& operand, int vec, std::int64_t row,
                             std::int64_t rows, std::int64_t tokens) noexcept;
/// The same of float32 scales, of which `high` bounds what lies above their power of two too.
/// Zeros do not count, nor do infinities.
ExponentRange scan_float_exponents(const ExpertOperand& operand, int vec, std::int64_t row,
                                   std::int64_t rows, std::int64_t tokens) noexcept;

/// Exponents to subtract from the scales of A and of B; `wide` where no pair keeps the range.
struct ExponentShift {
  int a = 0;
  int b = 0;
  bool wide = false;

  bool operator==(const ExponentShift&) const = default;
};
ExponentShift choose_shift(const ExponentRange& a, const ElementRange& a_element,
                           const ExponentRange& b, const ElementRange& b_element,
                           std::int64_t tokens) noexcept;

}  // namespace wgrad::cpu
