#include "kernels/sm90/traced.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/search.hpp"
#include "kernels/sm90/config.hpp"
#include "kernels/sm90/cost.hpp"
#include "kernels/sm90/emulated/kernels.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/shared/trace.hpp"

namespace wgrad::kernels::sm90 {
namespace {

/// `plan` with a traced kernel's configuration, and its workspace.
plan::Plan with(const plan::Plan& plan, const LaunchConfig& config, const std::string& summary) {
  plan::Plan out = plan;
  out.config = config;
  out.workspace = workspace_of(config);
  out.workspace.push_back({"trace", static_cast<std::int64_t>(shared::trace_bytes(
                                        config.kernel, static_cast<shared::u32>(config.grid)))});
  out.summary = summary + ", traced";
  return out;
}

std::string in_place_of(const shared::Config& c) {
  return fmt::format(
      ", in place of {}x{}x{}, last columns {}, cluster {}x1, {} CTAs sharing tokens", c.tile_m,
      c.tile_n, c.tile_k, c.tail_n == 0 ? c.tile_n : c.tail_n, c.cluster_m, c.split_k);
}

plan::Plan traced_on_emulator(const Problem& p, const plan::Plan& plan, DeviceSpec device) {
  const auto compiled = compiled_configs(emulated_traced_kernels(), p, device);
  if (compiled.empty()) {
    throw RuntimeError(
        fmt::format("wgrad: problem is a combination of types, majors and modes; it must be one of "
                    "the {} that the emulator's traced kernels were compiled for",
                    emulated_traced_kernels().size()));
  }
  device.kind = DeviceKind::kCuda;
  const auto all = plans(plan.backend, p, device);
  const auto best = std::find_if(all.begin(), all.end(), [&](const plan::Plan& candidate) {
    return candidate.family == plan.family;
  });
  shared::Config planned = best->config.as<LaunchConfig>().kernel;
  planned.trace = true;
  const auto ms = [&](const shared::Config& c) { return cost(c, p, device).ms; };
  const bool exact = std::find(compiled.begin(), compiled.end(), planned) != compiled.end();
  const LaunchConfig config = launch_values(
      exact ? planned
            : *std::min_element(compiled.begin(), compiled.end(),
                                [&](const auto& x, const auto& y) { return ms(x) < ms(y); }),
      p, device);
  return with(plan, config, summary(config) + (exact ? "" : in_place_of(planned)));
}

}  // namespace

plan::Plan traced(const Problem& p, const plan::Plan& plan, const DeviceSpec& device) {
  if (device.kind == DeviceKind::kEmulated) return traced_on_emulator(p, plan, device);
  LaunchConfig config = plan.config.as<LaunchConfig>();
  config.kernel.trace = true;
  return with(plan, config, plan.summary);
}

}  // namespace wgrad::kernels::sm90
