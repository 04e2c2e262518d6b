// Plans that run given configurations, planned or not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "emu/fuzz/kernel_case.hpp"
#include "kernels/family.hpp"
#include "kernels/sm90/config.hpp"
#include "support/planned/emulated_device.hpp"
#include "wgrad/shared/trace.hpp"

namespace wgrad::test {

/// A plan of a family that holds `launch`; `raster_m`: rows of a raster group, 0: those of
/// `launch`.
template <typename LaunchConfig>
plan::Plan emulated_plan(std::string_view family, LaunchConfig launch, int raster_m) {
  if (raster_m > 0) launch.raster_m = raster_m;
  plan::Plan plan;
  plan.backend = "emu";
  const auto all = kernels::families();
  plan.family =
      *std::find_if(all.begin(), all.end(), [&](const auto* f) { return f->name == family; });
  plan.config = launch;
  return plan;
}

/// Of a configuration that splits in the workspace: most parts of an expert; experts whose sums it
/// holds, 0: as the SMs suggest.
struct PlannedSplit {
  int parts = 1;
  int experts = 0;
};

/// On an emulated GPU of `sms`; `raster_m`: rows of a raster group, 0: as the SMs suggest.
inline plan::Plan plan_of(const shared::Config& config, const Problem& problem, int sms,
                          int raster_m = 0, const PlannedSplit& split = {}) {
  auto launch = kernels::sm90::launch_values(config, problem, emulated_sm90(sms), split.parts, 64);
  if (split.experts > 0) {
    const std::int64_t each = kernels::sm90::tile_count(config, problem) / problem.experts;
    launch.token_split.sets = static_cast<std::uint16_t>(each * split.experts);
  }
  plan::Plan plan = emulated_plan("sm90", launch, raster_m);
  plan.workspace = kernels::sm90::workspace_of(launch);
  if (config.trace) {
    plan.workspace.push_back({"trace", static_cast<std::int64_t>(shared::trace_bytes(
                                           config, static_cast<std::uint32_t>(launch.grid)))});
  }
  return plan;
}

/// The plan by which the case's kernel of the program computes `problem`; null: it does not serve
/// it.
std::optional<plan::Plan> case_plan(const KernelCase& c, const Problem& problem);

}  // namespace wgrad::test
