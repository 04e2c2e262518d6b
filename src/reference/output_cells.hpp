// The cells of Wgrad as doubles: where they lie, and one rounding on the way in.
#pragma once

#include <cstdint>

#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::reference {

class OutputCells {
 public:
  /// Rows of expert `e` of the output that `operands` names.
  OutputCells(const Problem& problem, const Operands& operands, std::size_t e);

  double load(std::int64_t i, std::int64_t j) const;
  /// To nearest even; beyond the largest finite value to infinity.
  void store(std::int64_t i, std::int64_t j, double value) const;

 private:
  std::uint8_t* cell(std::int64_t i, std::int64_t j) const;

  std::uint8_t* base_;
  DType dtype_;
  std::int64_t pitch_;
};

}  // namespace wgrad::reference
