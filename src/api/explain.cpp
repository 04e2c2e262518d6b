#include "wgrad/explain.hpp"

#include <algorithm>

#include "api/choice.hpp"
#include "kernels/search.hpp"

namespace wgrad {
namespace {

Candidate usable(const backends::Backend& backend, const plan::Plan& plan) {
  return {std::string(backend.name()), plan.summary, plan.predicted_ms, plan.bound, {},
          backend.only_by_name()};
}

/// Where a candidate stands in an explanation.
int rank(const Candidate& c) {
  return c.on_request ? 2 : c.reasons.empty() ? 0 : 1;
}

void append_candidates(std::vector<Candidate>& out, const backends::Backend& backend,
                       const Problem& problem, const DeviceSpec& device) {
  std::vector<Reason> limits = backend.limits(problem, device);
  if (!limits.empty()) {
    if (backend.only_by_name()) return;  // nobody asked for it
    out.push_back({std::string(backend.name()), "", 0, "", std::move(limits), false});
    return;
  }
  for (const plan::Plan& plan : backend.candidates(problem, device)) {
    out.push_back(usable(backend, plan));
  }
}

}  // namespace

Explanation explain(const Problem& problem, const DeviceSpec& device) {
  Explanation out;
  std::vector<Reason> broken = api::broken_rules(problem, device);
  if (!broken.empty()) {
    out.candidates.push_back({"", "", 0, "", std::move(broken), false});
    return out;
  }
  for (const backends::Backend* backend : backends::all()) {
    append_candidates(out.candidates, *backend, problem, device);
  }
  std::stable_sort(out.candidates.begin(), out.candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
  if (device.kind == DeviceKind::kCuda && kernels::never_ran(device.arch)) {
    out.notes.emplace_back(
        "no kernel has ever run on such a GPU: the cuda backend takes them with "
        "allow_unverified=True or WGRAD_ALLOW_UNVERIFIED=1 alone, and predicted times are not "
        "calibrated");
  }
  if (device.kind == DeviceKind::kCpu && problem.tiling != Tiling{}) {
    out.notes.emplace_back("mma_tiler_mn and cluster_shape_mn have no effect on a CPU");
  }
  return out;
}

}  // namespace wgrad
