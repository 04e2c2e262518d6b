#include "kernels/sm100_scaled/candidates.hpp"

#include <cstdint>

#include "kernels/sm100_scaled/config.hpp"
#include "kernels/sm100_scaled/cost.hpp"
#include "kernels/sm100_scaled/limits.hpp"

namespace wgrad::kernels::sm100_scaled {

std::vector<Candidate> candidates(const Problem& p, const DeviceSpec& device) {
  constexpr std::int64_t kTypicalTokens = 2048;  // of an expert: the first call may be a warm-up
  std::vector<Candidate> out;
  if (!limits(p, device).empty()) return out;
  Problem typical = p;
  typical.tokens = kTypicalTokens * p.experts;
  for (const Config& c : offered_configs(p, device)) {
    const sm100::Cost predicted = cost(c, p, device);
    Candidate candidate;
    candidate.config = launch_values(c, p, device);
    candidate.summary = summary(launch_values(c, p, device));
    candidate.predicted_ms = predicted.ms;
    candidate.bound = predicted.bound;
    candidate.cost = cost(c, typical, device).ms;
    out.push_back(std::move(candidate));
  }
  return out;
}

}  // namespace wgrad::kernels::sm100_scaled
