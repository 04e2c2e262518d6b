#include "kernels/sm100/traced.hpp"

#include <fmt/format.h>

#include "kernels/sm100/config.hpp"
#include "kernels/sm100/cost.hpp"
#include "kernels/sm100/emulated/kernels.hpp"
#include "kernels/trace_record.hpp"
#include "kernels/traced_choice.hpp"

namespace wgrad::kernels::sm100 {
namespace {

plan::Plan traced_on_emulator(const Problem& p, plan::Plan plan, DeviceSpec device) {
  const auto& kernels = emulated_traced_kernels();
  const auto compiled = compiled_configs(kernels, p, device);
  device.kind = DeviceKind::kCuda;
  const auto chosen =
      choose_traced<LaunchConfig>(compiled, kernels.size(), p, plan, device,
                                  [&](const Config& c) { return cost(c, p, device).ms; });
  const LaunchConfig config = launch_values(chosen.config, p, device);
  plan.summary = summary(config);
  if (!chosen.is_exact()) {
    const Config& c = chosen.planned;
    plan.summary +=
        fmt::format(", in place of {}x{}x{}", c.tile_m * c.cluster_m, c.tile_n, c.tile_k);
  }
  return traced_plan(plan, config);
}

}  // namespace

plan::Plan traced(const Problem& p, const plan::Plan& plan, const DeviceSpec& device) {
  if (device.kind == DeviceKind::kEmulated) return traced_on_emulator(p, plan, device);
  LaunchConfig config = plan.config.as<LaunchConfig>();
  config.kernel.trace = true;
  return traced_plan(plan, config);
}

Timeline timeline(const plan::Plan& plan, std::span<const std::byte> workspace) {
  constexpr int kWarps = shared::kWarpgroupWarps;
  const auto& config = plan.config.as<LaunchConfig>();
  TraceLayout layout{config.grid, config.kernel.stages, {}};
  add_tracks(layout.warps, "producer", kWarps, TraceRole::kProducer, 0);
  add_tracks(layout.warps, "epilogue warp", kWarps, TraceRole::kMath, 1);
  layout.warps.push_back({"multiplier", TraceRole::kMath, 0});
  if (prepares_stages(config.kernel))
    add_tracks(layout.warps, "preparation", kWarps, TraceRole::kProducer, 1);
  return timeline_of(plan, workspace, layout);
}

}  // namespace wgrad::kernels::sm100
