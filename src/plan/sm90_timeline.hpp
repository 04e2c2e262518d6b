// What a traced SM90 kernel left in its workspace, as a timeline.
#pragma once

#include <cstddef>
#include <span>

#include "plan/plan.hpp"
#include "wgrad/trace.hpp"

namespace wgrad::plan {

/// The plan with a traced kernel, and the workspace that this takes.
Plan traced(Plan plan);

/// Of a traced plan; `workspace` holds at least its workspace_bytes.
Timeline timeline(const Plan& plan, std::span<const std::byte> workspace);

}  // namespace wgrad::plan
