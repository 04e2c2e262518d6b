// A first model of the SM90 kernel's time. It has only to rank configurations; docs/design/
// performance.md holds what was measured.
#pragma once

#include <string_view>

#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::kernels::sm90 {

enum class Bound { kTensorCores, kOperandFeed, kEpilogue, kMemory };
std::string_view name(Bound bound) noexcept;

struct Cost {
  double ms = 0;
  Bound bound = Bound::kTensorCores;
};

/// `config` on `device` for `problem.tokens` tokens spread evenly over the experts.
Cost cost(const shared::Config& config, const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad::kernels::sm90
