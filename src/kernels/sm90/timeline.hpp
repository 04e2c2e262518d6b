// What a traced SM90 kernel left in its workspace, as a timeline.
#pragma once

#include <cstddef>
#include <span>

#include "plan/plan.hpp"
#include "wgrad/trace.hpp"

namespace wgrad::kernels::sm90 {

/// The plan with a traced kernel, and the workspace that this takes.
plan::Plan traced(plan::Plan plan);

/// Of a traced plan; `workspace` holds at least its workspace_bytes.
Timeline timeline(const plan::Plan& plan, std::span<const std::byte> workspace);

}  // namespace wgrad::kernels::sm90
