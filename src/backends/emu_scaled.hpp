// One launch of the kernel for block-scaled operands on the emulated machine.
#pragma once

#include <vector>

#include "backends/emu_launch.hpp"
#include "backends/emu_scaled_kernel.hpp"
#include "wgrad/device_spec.hpp"

namespace wgrad::backends {

/// Kernels that compute `problem` on `device`.
std::vector<const ScaledEmuKernel*> usable_scaled(const Problem& problem, const DeviceSpec& device);

/// Runs it. `fault`: where the kernel notes bad device data.
emu::Outcome launch_emulated(const ScaledEmuKernel& kernel, const Problem& problem,
                             const Operands& operands, const EmuSettings& settings,
                             shared::FaultRecord& fault);

}  // namespace wgrad::backends
