// A model of the SM90 kernel's time, fitted to measured times of every configuration on random
// shapes (docs/notes/2026-12-01-a-model-fitted-to-every-candidate.md). It has only to rank
// configurations.
#pragma once

#include <string_view>

#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/shared/params.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::kernels::sm90 {

enum class Bound { kTensorCores, kOperandFeed, kEpilogue, kMemory };
std::string_view name(Bound bound) noexcept;

struct Cost {
  double ms = 0;
  Bound bound = Bound::kTensorCores;
};

/// `config` on `device` for `problem.tokens` tokens, of which each expert has about as many. Rows
/// of an MN-major operand are taken as packed: their pitch follows from M or N.
/// `split`: of a configuration that splits in the workspace.
Cost cost(const shared::Config& config, const Problem& problem, const DeviceSpec& device,
          shared::TokenSplit split = {1, 1, 1});

/// What configurations are ranked by: the geometric mean, in ms, of that time, and, with weight
/// `hot`, of the time where one expert has most of the tokens.
double ranked_ms(const shared::Config& config, const Problem& problem, const DeviceSpec& device,
                 double hot, shared::TokenSplit split = {1, 1, 1});

}  // namespace wgrad::kernels::sm90
