// A first model of the SM90 kernel's time. It has only to rank configurations; docs/design/
// performance.md holds what was measured.
#pragma once

#include <string_view>

#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::plan {

enum class Sm90Bound { kTensorCores, kOperandFeed, kEpilogue, kMemory };
std::string_view name(Sm90Bound bound) noexcept;

struct Sm90Cost {
  double ms = 0;
  Sm90Bound bound = Sm90Bound::kTensorCores;
};

/// `config` on `device` for `problem.tokens` tokens spread evenly over the experts.
Sm90Cost sm90_cost(const shared::Config& config, const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad::plan
