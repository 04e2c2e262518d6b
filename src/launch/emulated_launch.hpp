// One launch of a family's image on the emulated machine: maps, registered memory, names for
// reports.
#pragma once

#include <cstddef>

#include "emu/machine.hpp"
#include "kernels/emulated.hpp"
#include "plan/plan.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/shared/params.hpp"

namespace wgrad::launch {

struct EmulatedSettings {
  std::size_t launches = 1;  ///< one behind the other in a stream, as soon as each lets the next
  bool claim_tiles = true;   ///< as CTAs come free, where the image does; false: dealt out in turn
  emu::Adversary adversary;
};

/// Runs `kernel`, of the plan's configuration. `operands` are host memory; `fault`: where the
/// kernel notes bad device data.
emu::Outcome launch_emulated(kernels::EmulatedKernel kernel, const Problem& problem,
                             const plan::Plan& plan, const Operands& operands,
                             const EmulatedSettings& settings, shared::FaultRecord& fault);

}  // namespace wgrad::launch
