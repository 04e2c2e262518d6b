// A family's kernels on the emulated machine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emu/machine.hpp"
#include "kernels/emulated_kernel.hpp"
#include "plan/plan.hpp"

namespace wgrad::kernels {

struct EmulatedFamily {
  /// The kernel compiled for the plan's configuration; null: there is none.
  EmulatedKernel (*kernel)(const plan::Plan& plan) = nullptr;
  /// Names for the pieces of a CTA's shared memory, for reports.
  std::vector<emu::SharedRegion> (*shared_regions)(const plan::Plan& plan) = nullptr;
  /// Writes what the engines of the machine did into a traced plan's workspace.
  void (*record_engines)(const plan::Plan& plan, const std::vector<emu::EngineSpan>& spans,
                         void* workspace) = nullptr;
};

}  // namespace wgrad::kernels
