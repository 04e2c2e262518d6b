// A plan that runs a given configuration of the SM90 kernel, planned or not.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/family.hpp"
#include "kernels/sm90/config.hpp"
#include "support/emulated_device.hpp"
#include "wgrad/shared/trace.hpp"

namespace wgrad::test {

/// On an emulated GPU of `sms`; `raster_m`: rows of a raster group, 0: as the SMs suggest.
inline plan::Plan plan_of(const shared::Config& config, const Problem& problem, int sms,
                          int raster_m = 0) {
  kernels::sm90::LaunchConfig launch =
      kernels::sm90::launch_values(config, problem, emulated_sm90(sms));
  if (raster_m > 0) launch.raster_m = raster_m;
  plan::Plan plan;
  plan.backend = "emu";
  const auto all = kernels::families();
  plan.family = *std::find_if(all.begin(), all.end(),
                              [](const auto* family) { return family->name == "sm90"; });
  plan.config = launch;
  if (config.trace) {
    plan.workspace = {{"trace", static_cast<std::int64_t>(shared::trace_bytes(
                                    config, static_cast<std::uint32_t>(launch.grid)))}};
  }
  return plan;
}

}  // namespace wgrad::test
