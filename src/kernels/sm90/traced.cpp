#include "kernels/sm90/traced.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/cost.hpp"
#include "kernels/sm90/emulated/kernels.hpp"
#include "kernels/traced_choice.hpp"

namespace wgrad::kernels::sm90 {
namespace {

plan::Plan with(plan::Plan plan, const LaunchConfig& config, const std::string& summary) {
  plan.workspace = workspace_of(config);
  plan.summary = summary;
  return traced_plan(std::move(plan), config);
}

std::string in_place_of(const shared::Config& c) {
  return fmt::format(
      ", in place of {}x{}x{}, last columns {}, cluster {}x1, {} CTAs sharing tokens", c.tile_m,
      c.tile_n, c.tile_k, c.tail_n == 0 ? c.tile_n : c.tail_n, c.cluster_m, c.split_k);
}

plan::Plan traced_on_emulator(const Problem& p, const plan::Plan& plan, DeviceSpec device) {
  const auto& kernels = emulated_traced_kernels();
  const auto compiled = compiled_configs(kernels, p, device);
  device.kind = DeviceKind::kCuda;
  const auto chosen =
      choose_traced<LaunchConfig>(compiled, kernels.size(), p, plan, device,
                                  [&](const shared::Config& c) { return cost(c, p, device).ms; });
  const LaunchConfig config = launch_values(chosen.config, p, device);
  return with(plan, config,
              summary(config) + (chosen.is_exact() ? "" : in_place_of(chosen.planned)));
}

}  // namespace

plan::Plan traced(const Problem& p, const plan::Plan& plan, const DeviceSpec& device) {
  if (device.kind == DeviceKind::kEmulated) return traced_on_emulator(p, plan, device);
  LaunchConfig config = plan.config.as<LaunchConfig>();
  config.kernel.trace = true;
  return with(plan, config, plan.summary);
}

}  // namespace wgrad::kernels::sm90
