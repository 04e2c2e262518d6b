// A model of the time of the SM 10.0 kernel for block-scaled operands, from published figures: not
// calibrated, since nothing has run on silicon. It has only to rank tile widths.
#pragma once

#include "kernels/sm100/cost.hpp"
#include "kernels/sm100_scaled/config.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::kernels::sm100_scaled {

/// `config` on `device` for `problem.tokens` tokens, of which each expert has about as many.
sm100::Cost cost(const Config& config, const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad::kernels::sm100_scaled
