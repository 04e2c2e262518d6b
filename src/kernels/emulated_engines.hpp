// What the engines of the emulated machine did, as a traced kernel's record has it.
#pragma once

#include <cstdint>
#include <vector>

#include "emu/machine.hpp"
#include "plan/plan.hpp"

namespace wgrad::kernels {

/// Into the last tracks of each CTA's `tracks`, in the workspace of a traced plan; of another plan
/// nothing.
void record_engine_spans(const plan::Plan& plan, const std::vector<emu::EngineSpan>& spans,
                         std::uint32_t tracks, void* workspace);

}  // namespace wgrad::kernels
