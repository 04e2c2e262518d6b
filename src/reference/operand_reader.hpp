// Decodes A or B element by element: where each value lies, and what it means.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scales/scale_blocks.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::reference {

/// The tokens of one expert.
struct ExpertRange {
  std::size_t expert = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;  ///< k_e
};

ExpertRange expert_range(const Operands& operands, std::size_t expert);

/// One operand seen as (rows, tokens): rows are M of A and N of B.
class OperandReader {
 public:
  static OperandReader a(const Problem& problem, const Operands& operands);
  static OperandReader b(const Problem& problem, const Operands& operands);

  /// The value of (row, begin + k) for each k < out.size() <= range.count, scale factor applied,
  /// but one of all tokens.
  void decode_row(const ExpertRange& range, std::int64_t row, std::span<double> out) const;
  /// The scale factor of all the tokens of a row; 1 where there is none.
  double whole_row_scale(const ExpertRange& range, std::int64_t row) const;

 private:
  /// The parts in which A and B differ.
  struct Side {
    const void* data;
    DType dtype;
    Major major;
    std::int64_t rows;
    std::int64_t ld;  ///< 0: packed
    const void* scales;
    std::int64_t scale_cols;
  };
  OperandReader(const Problem& problem, const Operands& operands, const Side& side);

  std::int64_t index(const ExpertRange& range, std::int64_t row, std::int64_t k) const;
  std::uint32_t code(std::int64_t index) const;
  double scale_at(const ExpertRange& range, std::int64_t row, std::int64_t col) const;
  double scale(const ExpertRange& range, std::int64_t row, std::int64_t k) const;

  const std::uint8_t* data_ = nullptr;
  DType dtype_ = DType::kBf16;
  Major major_ = Major::kK;
  bool ragged_ = false;
  std::int64_t rows_ = 0;
  std::int64_t ld_ = 0;

  const std::uint8_t* scales_ = nullptr;
  DType scale_dtype_ = DType::kE8m0;
  int vec_size_ = 0;                        ///< kAllTokens: none, or of whole rows
  std::vector<scales::ScaleBlock> blocks_;  ///< one an expert
};

}  // namespace wgrad::reference
