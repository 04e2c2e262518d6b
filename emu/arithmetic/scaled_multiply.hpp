// The arithmetic of tcgen05.mma on block-scaled operands, as models fitted to a B200 have it
// (docs/notes/2026-12-01-the-emulated-blackwell-machine.md). Not checked against hardware here.
#pragma once

#include <cstdint>
#include <vector>

#include "wgrad/shared/element.hpp"

namespace wgrad::emu {

/// Codes of one operand, `depth` to a row, with the row's scale factors.
struct ScaledOperand {
  shared::ElementType type = shared::ElementType::kE4m3;
  std::uint32_t rows = 0;
  std::vector<std::uint8_t> codes;   ///< rows x depth, one in a byte
  std::vector<std::uint8_t> scales;  ///< rows x scale factors
};

/// kind::mxf8f6f4: d[a.rows][b.rows] += A * B^T, 32 deep, one e8m0 scale factor to a row. Its
/// exponent is added to each product's; then as multiply().
void multiply_mxf8f6f4(float* d, const ScaledOperand& a, const ScaledOperand& b);

/// kind::mxf4 (e8m0, two scale factors to a row) and kind::mxf4nvf4 (e8m0 or e4m3, four; the
/// sign of e4m3 is ignored), 64 deep. Sums of 16 products are exact. Each is multiplied by its
/// scale factors and has their exponents' sum for exponent. These four terms and D are cut to 35
/// binary places below the largest exponent; then as multiply().
void multiply_mxf4(float* d, const ScaledOperand& a, const ScaledOperand& b,
                   shared::ScaleType scale);

}  // namespace wgrad::emu
