// Sizes scaled down so that a run takes seconds.
#pragma once

#include <string>

#include "bench/shapes.hpp"

namespace wgrad::cli {

/// M, N and T times `factor`: M and N rounded to multiples of 16, T to a multiple of 2, none below
/// 16. E and the distribution stay. A factor of 1 leaves the shape as it is.
bench::Shape scaled(const bench::Shape& shape, double factor);

/// The largest of 1, 1/2, 1/4, ... for which 2*T*M*N is at most `flop_budget`.
double automatic_factor(const bench::Shape& shape, double flop_budget);

/// FLOPs one automatically scaled run may have on `threads` threads of `backend`.
double flop_budget(const std::string& backend, int threads);

/// The rule above as a sentence.
std::string scaling_rule(const std::string& backend, int threads);

}  // namespace wgrad::cli
