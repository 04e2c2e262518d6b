// One launch of a family's image on the emulated machine: maps, registered memory, names for
// reports.
#pragma once

#include <cstddef>

#include "emu/machine.hpp"
#include "emu/memory/global_memory.hpp"
#include "kernels/emulated.hpp"
#include "kernels/launch_image.hpp"
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

/// Registers all that a launch may touch but what the launcher adds.
void add_memory(emu::GlobalMemory& memory, const Problem& problem, const plan::Plan& plan,
                const Operands& operands);

/// An image whose parameters are complete, as the machine takes it. `image` must outlive the run.
emu::Launch machine_launch(kernels::EmulatedKernel kernel, const kernels::LaunchImage& image);

/// Runs `kernel`, of the plan's configuration. `operands` are host memory; `fault`: where the
/// kernel notes bad device data.
emu::Outcome launch_emulated(kernels::EmulatedKernel kernel, const Problem& problem,
                             const plan::Plan& plan, const Operands& operands,
                             const EmulatedSettings& settings, shared::FaultRecord& fault);

}  // namespace wgrad::launch
