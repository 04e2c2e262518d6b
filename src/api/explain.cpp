#include "wgrad/explain.hpp"

#include <algorithm>

#include "backends/backend.hpp"
#include "validate/problem_rules.hpp"

namespace wgrad {
namespace {

Candidate usable(const backends::Backend& backend, const plan::Plan& plan) {
  return {std::string(backend.name()), plan.summary, plan.predicted_ms, plan.bound, {}};
}

void append_candidates(std::vector<Candidate>& out, const backends::Backend& backend,
                       const Problem& problem, const DeviceSpec& device) {
  std::vector<Reason> limits = backend.limits(problem, device);
  if (!limits.empty()) {
    out.push_back({std::string(backend.name()), "", 0, "", std::move(limits)});
    return;
  }
  for (const plan::Plan& plan : backend.candidates(problem, device)) {
    out.push_back(usable(backend, plan));
  }
}

}  // namespace

Explanation explain(const Problem& problem, const DeviceSpec& device) {
  Explanation out;
  std::vector<Reason> broken = validate::broken_rules(problem);
  if (!broken.empty()) {
    out.candidates.push_back({"", "", 0, "", std::move(broken)});
    return out;
  }
  for (const backends::Backend* backend : backends::all()) {
    append_candidates(out.candidates, *backend, problem, device);
  }
  std::stable_partition(out.candidates.begin(), out.candidates.end(),
                        [](const Candidate& c) { return c.reasons.empty(); });
  if (device.kind == DeviceKind::kCpu && problem.tiling != Tiling{}) {
    out.notes.emplace_back("mma_tiler_mn and cluster_shape_mn have no effect on a CPU");
  }
  return out;
}

}  // namespace wgrad
