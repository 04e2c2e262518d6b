#include "harness/sampled_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/elements.hpp"
#include "harness/error_bound.hpp"
#include "harness/random_data.hpp"
#include "wgrad/reference.hpp"

namespace wgrad::harness {
namespace {

struct Judge {
  const Workload& workload;
  std::string_view backend;
  CheckResult result;

  double initial(std::int64_t e, std::int64_t i, std::int64_t j) const {
    return workload.problem().accumulate ? workload.initial(e, i, j) : 0.0;
  }

  void fail(std::int64_t e, std::int64_t i, std::int64_t j, double got, const std::string& need) {
    if (!result.ok()) return;
    result.failure = fmt::format("Wgrad[{}][{}][{}] is {:.9g}; it must be {}", e, i, j, got, need);
  }

  void compare(std::int64_t e, std::int64_t i, std::int64_t j) {
    const Problem& p = workload.problem();
    const double got = load(p.wgrad_dtype, workload.output(e), i * p.n + j);
    const reference::Magnitude m = reference::magnitude(p, workload.host_operands(), e, i, j);
    const double before = initial(e, i, j);
    const double exact = m.value + before;
    const double scale = m.absolute_sum + std::fabs(before);
    const std::int64_t count = workload.end(e) - workload.begin(e);
    const double bound = sum_bound_of(p, backend, count) * scale +
                         unit_roundoff(p.wgrad_dtype) * std::fabs(exact) + smallest(p.wgrad_dtype);
    const double error = std::fabs(got - exact);
    ++result.samples;
    if (!(error <= bound)) fail(e, i, j, got, fmt::format("{:.9g} within {:.3g}", exact, bound));
    result.max_error = std::max(result.max_error, scale > 0 ? error / scale : error);
    result.max_of_bound = std::max(result.max_of_bound, error / bound);
  }

  void check_all(std::int64_t e) {
    const Problem& p = workload.problem();
    const bool empty = workload.end(e) == workload.begin(e);
    for (std::int64_t at = 0; at < p.m * p.n && result.ok(); ++at) {
      const std::int64_t i = at / p.n;
      const std::int64_t j = at % p.n;
      const double got = load(p.wgrad_dtype, workload.output(e), at);
      if (empty && !(got == initial(e, i, j))) {
        fail(e, i, j, got, fmt::format("{:.9g} exactly: the expert is empty", initial(e, i, j)));
      }
      if (std::isnan(got)) fail(e, i, j, got, "written: it still holds the NaN put there before");
    }
  }
};

}  // namespace

CheckResult check(const Workload& workload, std::int64_t samples, std::uint64_t seed,
                  std::string_view backend) {
  const Problem& p = workload.problem();
  Judge judge{workload, backend, {}};
  const std::int64_t each = (samples - 1) / p.experts + 1;
  std::uint64_t index = 0;
  const auto random_below = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(random_bits(seed, index++) %
                                     static_cast<std::uint64_t>(limit));
  };
  for (std::int64_t e = 0; e < p.experts; ++e) {
    judge.check_all(e);
    if (each >= p.m * p.n) {
      for (std::int64_t at = 0; at < p.m * p.n; ++at) judge.compare(e, at / p.n, at % p.n);
      continue;
    }
    judge.compare(e, p.m - 1, p.n - 1);  // the corner that a wrong tail spoils first
    for (std::int64_t s = 1; s < each; ++s) judge.compare(e, random_below(p.m), random_below(p.n));
  }
  return judge.result;
}

std::string checked_text(std::int64_t samples) {
  return fmt::format("{} element{} checked against plain loops in double", samples,
                     samples == 1 ? "" : "s");
}

std::string error_bound_text() {
  return "error: |got - exact| / sum|a*b| over sampled elements; allowed: (4 + 2*sqrt(k_e)) * "
         "2^-23 (FP8 by rows on a GPU: more, for its short sums), "
         "plus one rounding to the output dtype";
}

}  // namespace wgrad::harness
