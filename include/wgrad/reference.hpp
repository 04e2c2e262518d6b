// The oracle: plain loops in double over decoded operands. The judge in tests, never a fast path.
#pragma once

#include <cstdint>

#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::reference {

/// Element (i, j) of the exact product of expert `e` in double, global scales applied, before
/// accumulation and rounding. Host memory operands; offsets must be valid.
double element(const Problem& problem, const Operands& operands, std::int64_t e, std::int64_t i,
               std::int64_t j);

/// As element(), with the sum of |a * b| terms: the scale against which an error is measured.
struct Magnitude {
  double value = 0;
  double absolute_sum = 0;
};
Magnitude magnitude(const Problem& problem, const Operands& operands, std::int64_t e,
                    std::int64_t i, std::int64_t j);

/// Computes the whole problem into the outputs that `operands` names, one rounding to wgrad_dtype.
/// Operands, offsets and wgrad_ptrs are host memory. Nothing is checked: `problem` and `operands`
/// must follow the contract (the backend "reference" checks them first).
void run(const Problem& problem, const Operands& operands);

}  // namespace wgrad::reference
