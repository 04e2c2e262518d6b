// What a traced kernel of any family left in its workspace, as a timeline.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "plan/plan.hpp"
#include "wgrad/trace.hpp"

namespace wgrad::kernels {

struct TraceLayout {
  int ctas = 0;
  int stages = 0;                 ///< of operands, in a CTA's shared memory
  std::vector<TraceTrack> warps;  ///< of a CTA, in order
};

/// Of a plan with a region "trace" (shared/trace.hpp) in its workspace.
Timeline timeline_of(const plan::Plan& plan, std::span<const std::byte> workspace,
                     const TraceLayout& layout);

/// Tracks "`name` 0", "`name` 1", ...
void add_tracks(std::vector<TraceTrack>& tracks, std::string_view name, int count, TraceRole role,
                int group);

}  // namespace wgrad::kernels
