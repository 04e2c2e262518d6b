// The configurations that the SM90 planner chooses from.
#pragma once

#include <vector>

#include "wgrad/sm90/config.hpp"

namespace wgrad::test {

/// Each once, in one order, of 16-bit problems of every kind.
std::vector<shared::Config> planned_configs();

}  // namespace wgrad::test
