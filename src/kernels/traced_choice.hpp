// Which kernel a traced run on the emulated machine takes: few are compiled with Config::trace.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernels/search.hpp"
#include "plan/plan.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/shared/trace.hpp"

namespace wgrad::kernels {

/// `plan` with a traced kernel's configuration, and room for what it records.
template <typename Launch>
plan::Plan traced_plan(plan::Plan plan, const Launch& config) {
  plan.config = config;
  plan.workspace.push_back({"trace", static_cast<std::int64_t>(shared::trace_bytes(
                                         config.kernel, static_cast<shared::u32>(config.grid)))});
  plan.summary += ", traced";
  return plan;
}

template <typename Config>
struct TracedChoice {
  Config config;
  Config planned;  ///< what the search chooses for a GPU of the same kind

  bool is_exact() const { return config == planned; }
};

/// Throws RuntimeError where `compiled`, those of `kernels` that compute `p`, is empty. `ms`: of a
/// configuration.
template <typename Launch, typename Config, typename Ms>
TracedChoice<Config> choose_traced(const std::vector<Config>& compiled, std::size_t kernels,
                                   const Problem& p, const plan::Plan& plan, const DeviceSpec& gpu,
                                   const Ms& ms) {
  if (compiled.empty()) {
    throw RuntimeError(
        fmt::format("wgrad: problem is a combination of types, majors and modes; it must be one of "
                    "the {} that the emulator's traced kernels were compiled for",
                    kernels));
  }
  const auto all = plans(plan.backend, p, gpu);
  const auto best = std::find_if(all.begin(), all.end(), [&](const plan::Plan& candidate) {
    return candidate.family == plan.family;
  });
  Config planned = best->config.template as<Launch>().kernel;
  planned.trace = true;
  if (std::find(compiled.begin(), compiled.end(), planned) != compiled.end())
    return {planned, planned};
  return {*std::min_element(compiled.begin(), compiled.end(),
                            [&](const auto& x, const auto& y) { return ms(x) < ms(y); }),
          planned};
}

}  // namespace wgrad::kernels
