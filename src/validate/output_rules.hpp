// The contract's limits on the output: its dtypes, and how it lies.
#pragma once

#include <vector>

#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::validate {

/// Whether results come in it.
bool is_output(DType dtype);

void check_output_dtypes(std::vector<Reason>& out, const Problem& problem);

/// Row pitch and expert stride, of extents in range and a dtype that is_output().
void check_output_strides(std::vector<Reason>& out, const Problem& problem);

}  // namespace wgrad::validate
