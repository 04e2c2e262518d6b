// The configurations that the planners for 16-bit operands choose from.
#pragma once

#include <vector>

#include "wgrad/problem.hpp"
#include "wgrad/sm100/config.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::test {

/// 16-bit problems of every kind that a configuration depends on.
std::vector<Problem> planned_problems();

/// Each once, in one order, of these problems.
std::vector<shared::Config> planned_configs();
std::vector<shared::sm100::Config> planned_sm100_configs();

}  // namespace wgrad::test
