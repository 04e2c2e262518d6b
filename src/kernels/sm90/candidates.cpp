#include "kernels/sm90/candidates.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/cost.hpp"
#include "kernels/sm90/limits.hpp"

namespace wgrad::kernels::sm90 {
namespace {

constexpr std::int64_t kTypicalTokens = 8192;  // of an expert

Problem with_typical_tokens(Problem p) {
  p.tokens = p.experts * kTypicalTokens;
  return p;
}

}  // namespace

int token_split(const Problem& problem, DeviceSpec device) {
  Problem p = with_typical_tokens(problem);
  p.a_major = p.b_major = Major::kMn;
  p.wgrad_dtype = DType::kBf16;
  p.accumulate = false;
  device.sm_limit = 0;
  int split = 1;
  double least = std::numeric_limits<double>::infinity();
  for (const shared::Config& c : fitting_configs(p, device)) {
    const double ms = cost(c, p, device).ms;
    if (ms >= least) continue;
    least = ms;
    split = c.split_k;
  }
  return split;
}

std::vector<Candidate> candidates(const Problem& p, const DeviceSpec& device) {
  std::vector<Candidate> out;
  if (!limits(p, device).empty()) return out;
  const std::vector<shared::Config> configs = fitting_configs(p, device);
  // A first call without tokens tells nothing of those to come.
  const Problem ranked = p.tokens == 0 ? with_typical_tokens(p) : p;
  const auto has = [&](int split_k) {
    return std::any_of(configs.begin(), configs.end(),
                       [&](const shared::Config& c) { return c.split_k == split_k; });
  };
  int split = token_split(p, device);
  while (split > 1 && !has(split)) split /= 2;
  for (const shared::Config& c : configs) {
    const LaunchConfig config = launch_values(c, p, device);
    const Cost predicted = cost(c, p, device);
    out.push_back({.config = config,
                   .summary = summary(config),
                   .predicted_ms = predicted.ms,
                   .bound = name(predicted.bound),
                   .rank = c.split_k != split ? 1 : 0,
                   .cost = cost(c, ranked, device).ms});
  }
  return out;
}

}  // namespace wgrad::kernels::sm90
