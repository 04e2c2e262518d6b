// Whether outputs are right, by sampled elements against the oracle.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "harness/workload.hpp"

namespace wgrad::harness {

/// Errors are |got - exact|, divided by sum_t |a*b| of that element.
struct CheckResult {
  std::int64_t samples = 0;
  double max_error = 0;     ///< the largest error among samples
  double max_of_bound = 0;  ///< the largest error / bound; at most 1 is right
  std::string failure;      ///< the first wrong element in words; empty: all right

  bool ok() const { return failure.empty(); }
};

/// Checks, after one run: at least `samples` elements spread over all experts against the oracle,
/// or each once where there are fewer, every element of an empty expert bit for bit, and every
/// element for left-over poison. `backend`: who computed it.
CheckResult check(const Workload& workload, std::int64_t samples, std::uint64_t seed,
                  std::string_view backend = "");

/// "... elements checked against plain loops in double".
std::string checked_text(std::int64_t samples);

/// The bound in words.
std::string error_bound_text();

}  // namespace wgrad::harness
