// One SM90 kernel launch on the emulated machine: parameters, registered memory, names for reports.
#pragma once

#include <cstdint>

#include "backends/emu_kernel.hpp"
#include "emu/machine.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::backends {

struct EmuSettings {
  std::int32_t sm_count = 4;
  std::int32_t raster_m = 0;  ///< rows of a raster group; 0: as the SM count suggests
  std::size_t launches = 1;   ///< one behind the other in a stream, as soon as each lets the next
  bool claim_tiles = true;    ///< as CTAs come free; false: dealt out in turn
  emu::Adversary adversary;
};

/// Whether `config` computes `problem`: layouts, types, output mode.
bool serves(const shared::Config& config, const Problem& problem);

/// Runs it. `fault`: where the kernel notes bad device data.
emu::Outcome launch_emulated(const EmuKernel& kernel, const Problem& problem,
                             const Operands& operands, const EmuSettings& settings,
                             shared::FaultRecord& fault);

}  // namespace wgrad::backends
