// One expert's share of an operand, A or B alike: rows (M or N) by tokens, and its scale factors.
#pragma once

#include <cstdint>
#include <cstring>

#include "scales/scale_blocks.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::cpu {

/// Scale factors of one expert: one per row and block of tokens, a byte each or a float32.
struct ExpertScales {
  const std::uint8_t* data = nullptr;
  scales::ScaleBlock block;

  /// Where they are float32.
  float value(std::int64_t row, std::int64_t index) const noexcept {
    float scale = 0;
    std::memcpy(&scale, data + 4 * block.offset(row, index), sizeof scale);
    return scale;
  }

  /// The scale of (row, block) is row(row)[column(block)].
  const std::uint8_t* row(std::int64_t r) const noexcept { return data + block.row_offset(r); }
  std::int64_t column(std::int64_t index) const noexcept { return block.col_offset(index); }
};

struct ExpertOperand {
  const std::uint8_t* base = nullptr;  ///< element (row 0, token 0) of the expert
  std::int64_t ld = 0;                 ///< elements between rows (K-major) or tokens (MN-major)
  Major major = Major::kMn;
  DType dtype = DType::kBf16;
  ExpertScales scales;

  /// Address of element (row, token); of an FP4 element, the byte that holds it.
  const std::uint8_t* at(std::int64_t row, std::int64_t token) const noexcept {
    const std::int64_t element = major == Major::kK ? row * ld + token : token * ld + row;
    return base + element * bits(dtype) / 8;
  }
};

/// Where an expert begins: in tokens, and in scale columns.
struct ExpertPlace {
  std::int64_t begin = 0;
  std::int64_t tokens = 0;       ///< k_e
  std::int64_t scale_begin = 0;  ///< columns that the experts before take up
};

ExpertOperand expert_a(const Problem& problem, const Operands& operands, const ExpertPlace& place);
ExpertOperand expert_b(const Problem& problem, const Operands& operands, const ExpertPlace& place);

}  // namespace wgrad::cpu
