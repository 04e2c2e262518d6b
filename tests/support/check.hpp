// Runs a case on a backend and judges it against the oracle.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "harness/cases/case.hpp"
#include "harness/cases/instance.hpp"
#include "support/harness.hpp"
#include "support/targets.hpp"

namespace wgrad::test {

/// Output of two runs of one executable, the output restored in between; the runs must agree.
Bytes run_twice(const Target& target, const CaseData& data);

/// Every byte equals, canaries and gaps included.
testing::AssertionResult same_image(const CaseData& data, const Bytes& got, const Bytes& want);

/// Per expert: max |got - want| <= bound, with
///
///     bound = (2 u + u_acc) * max |want| + sum_bound(k_e) * max |A_i| * max |B_j|
///
/// u is the output's unit roundoff (2^-8 bf16, 2^-11 fp16, 2^-24 fp32), twice because both sides
/// are rounded; u_acc is 2^-24 when accumulating (the FP32 add), else 0. The last term bounds the
/// sum (harness/error_bound.hpp), with sum|ab| <= |A_i| |B_j| by Cauchy-Schwarz. Reported relative
/// to the expert's peak; bytes outside the cells must equal.
testing::AssertionResult close_image(const CaseData& data, const Bytes& got, const Bytes& want,
                                     std::string_view backend = "");

/// Judges a few cells of each expert by reference::magnitude(), for problems too large for the
/// oracle: exactly on integer data, else within the bound above with the cell's own sum|ab|.
testing::AssertionResult samples_agree(const CaseData& data, const Bytes& got,
                                       std::string_view backend = "");

/// Whether the target's backend states no limit that `problem` breaks.
bool has_kernel(const Target& target, const Problem& problem);

/// Prepares, runs twice and judges: bit for bit unless the data is kNormal; by samples where the
/// oracle would have more than 4e9 products to add. Where the target states that it has no kernel
/// for the problem, judges that prepare() refuses in words.
testing::AssertionResult conforms(const Target& target, const Case& c);

}  // namespace wgrad::test
