#include "kernels/sm90/candidates.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/cost.hpp"
#include "kernels/sm90/limits.hpp"

namespace wgrad::kernels::sm90 {
namespace {

// Of an expert. What a plan is made for follows no call's tokens: the first one may be a warm-up.
// Ranked for as many, configurations are as fast as ranked for each call's own, within 0.2 % in the
// mean (docs/notes/2026-12-01-a-model-fitted-to-every-candidate.md).
constexpr std::int64_t kTypicalTokens = 2048;
constexpr std::int64_t kSplitTokens = 8192;  // where the tokens are worth sharing
// Weight of problems of which one expert has most of the tokens. Few tiles suffer most from it.
constexpr double kHotWeight = 0.1;
constexpr double kSplitHotWeight = 0.3;

Problem with_tokens(Problem p, std::int64_t of_an_expert) {
  p.tokens = p.experts * of_an_expert;
  return p;
}

/// Tokens are shared where the multiprocessors outnumber the tiles.
bool may_split(const shared::Config& c, const Problem& p, const DeviceSpec& device) {
  return c.split_k == 1 || tile_count(c, p) <= device.sm_count;
}

}  // namespace

int token_split(const Problem& problem, DeviceSpec device) {
  Problem p = with_tokens(problem, kSplitTokens);
  p.a_major = p.b_major = Major::kMn;
  p.wgrad_dtype = DType::kBf16;
  p.accumulate = false;
  device.sm_limit = 0;
  int split = 1;
  double least = std::numeric_limits<double>::infinity();
  for (const shared::Config& c : fitting_configs(p, device)) {
    if (!may_split(c, p, device)) continue;
    const double ms = ranked_ms(c, p, device, kSplitHotWeight);
    if (ms >= least) continue;
    least = ms;
    split = c.split_k;
  }
  return split;
}

std::vector<Candidate> candidates(const Problem& p, const DeviceSpec& device) {
  std::vector<Candidate> out;
  if (!limits(p, device).empty()) return out;
  const std::vector<shared::Config> configs = offered_configs(p, device);
  const Problem ranked = with_tokens(p, kTypicalTokens);
  const auto has = [&](int split_k) {
    return std::any_of(configs.begin(), configs.end(),
                       [&](const shared::Config& c) { return c.split_k == split_k; });
  };
  int split = token_split(p, device);
  while (split > 1 && !has(split)) --split;
  for (const shared::Config& c : configs) {
    const LaunchConfig config = launch_values(c, p, device);
    const Cost predicted = cost(c, p, device);
    out.push_back({.config = config,
                   .summary = summary(config),
                   .predicted_ms = predicted.ms,
                   .bound = name(predicted.bound),
                   .rank = c.split_k != split ? 1 : 0,
                   .cost = ranked_ms(c, ranked, device, kHotWeight)});
  }
  return out;
}

}  // namespace wgrad::kernels::sm90
