// What the search makes of the SM90 family's candidates.
#pragma once

#include <string>
#include <vector>

#include "kernels/search.hpp"
#include "kernels/sm90/config.hpp"

namespace wgrad::kernels::sm90 {

struct Planned {
  LaunchConfig config;
  double ms = 0;
  std::string bound;
};

/// Best first.
inline std::vector<Planned> planned(const Problem& problem, const DeviceSpec& device) {
  std::vector<Planned> out;
  for (const plan::Plan& plan : plans("cuda", problem, device)) {
    out.push_back({plan.config.as<LaunchConfig>(), plan.predicted_ms, plan.bound});
  }
  return out;
}

}  // namespace wgrad::kernels::sm90
