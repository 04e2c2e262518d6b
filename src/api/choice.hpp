// Which backend serves a problem.
#pragma once

#include <string_view>
#include <vector>

#include "backends/backend.hpp"

namespace wgrad::api {

/// Either a backend and its plan, or the reasons why there is none.
struct Choice {
  const backends::Backend* backend = nullptr;
  plan::Plan plan;
  std::vector<Reason> reasons;
};

void append(std::vector<Reason>& reasons, std::vector<Reason> more);

/// Every rule of the contract that the problem or the device breaks, whatever the backend.
std::vector<Reason> broken_rules(const Problem& problem, const DeviceSpec& device);

/// The backend called `wanted`, or, when empty, the first that supports `problem` on `device`.
/// The reference is never chosen unless it is named.
Choice choose(const Problem& problem, const DeviceSpec& device, std::string_view wanted);

}  // namespace wgrad::api
