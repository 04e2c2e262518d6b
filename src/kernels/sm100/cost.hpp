// A model of the SM 10.0 kernel's time, from published figures: not calibrated, since nothing has
// run on silicon. It has only to rank tile widths.
#pragma once

#include <string_view>

#include "kernels/sm100/config.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::kernels::sm100 {

struct Cost {
  double ms = 0;
  std::string_view bound;  ///< of static lifetime
};

/// `config` on `device` for `problem.tokens` tokens, of which each expert has about as many.
Cost cost(const Config& config, const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad::kernels::sm100
