// A and B: which axis is contiguous, how many tokens, how far apart the rows.
#pragma once

#include "call.hpp"

namespace wgrad::python {

struct OperandLayout {
  DType dtype = DType::kBf16;
  Major major = Major::kK;
  std::int64_t tokens = 0;  ///< unpacked
  std::int64_t extent = 0;  ///< M of A, N of B
  std::int64_t ld = 0;      ///< elements between rows; 0: packed, or without meaning
  bool open = false;        ///< the tokens are so few that the other major is as right
};

/// What a view that can be read both ways is taken for.
struct MajorChoice {
  Major major;
  bool settled;  ///< false: a view of a single row is read along that row
};

/// Reads a 2-D `view` whose tokens lie along `token_axis`. Adds to `out` what cannot be read.
OperandLayout read_operand(const TensorView& view, const char* field, int token_axis,
                           MajorChoice choice, InputOrder order, Reasons& out);

}  // namespace wgrad::python
