#include "kernels/sm90/timeline.hpp"

#include <fmt/format.h>

#include "kernels/sm90/config.hpp"
#include "kernels/trace_record.hpp"

namespace wgrad::kernels::sm90 {

Timeline timeline(const plan::Plan& plan, std::span<const std::byte> workspace) {
  constexpr int kWarps = shared::kWarpgroupWarps;
  const auto& config = plan.config.as<LaunchConfig>();
  TraceLayout layout{config.grid, config.kernel.stages, {}};
  add_tracks(layout.warps, "producer", kWarps, TraceRole::kProducer, 0);
  const int groups = shared::threads_per_cta(config.kernel) / shared::kWarpgroupThreads - 1;
  for (int group = 0; group < groups; ++group) {
    add_tracks(layout.warps, fmt::format("math {} warp", group), kWarps, TraceRole::kMath, group);
  }
  return timeline_of(plan, workspace, layout);
}

}  // namespace wgrad::kernels::sm90
