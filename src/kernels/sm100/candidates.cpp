#include "kernels/sm100/candidates.hpp"

#include <cstdint>

#include "kernels/sm100/config.hpp"
#include "kernels/sm100/cost.hpp"
#include "kernels/sm100/limits.hpp"

namespace wgrad::kernels::sm100 {
namespace {

// Of an expert. What a plan is made for follows no call's tokens: the first one may be a warm-up.
constexpr std::int64_t kTypicalTokens = 2048;

}  // namespace

std::vector<Candidate> candidates(const Problem& p, const DeviceSpec& device) {
  std::vector<Candidate> out;
  if (!limits(p, device).empty()) return out;
  Problem ranked = p;
  ranked.tokens = p.experts * kTypicalTokens;
  for (const Config& c : offered_configs(p, device)) {
    const LaunchConfig config = launch_values(c, p, device);
    const Cost predicted = cost(c, p, device);
    out.push_back({.config = config,
                   .summary = summary(config),
                   .predicted_ms = predicted.ms,
                   .bound = predicted.bound,
                   .cost = cost(c, ranked, device).ms});
  }
  return out;
}

}  // namespace wgrad::kernels::sm100
