// Limits, candidates, cost, best: the search that every family's kernels go through.
#pragma once

#include <string_view>
#include <vector>

#include "plan/plan.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::kernels {

/// Why no family has a kernel for `problem` on `device`, a GPU, which break no rule of the
/// contract: its architecture, or the limits of the family that has fewest.
std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device);

/// The same on a GPU that is none of an emulator's: kernels that have never run on such a GPU are
/// refused too, unless DeviceSpec::allow_unverified.
std::vector<Reason> limits_on_silicon(const Problem& problem, const DeviceSpec& device);

/// Whether there are kernels for `arch`, compute capability times ten, and none of them has run on
/// such a GPU.
bool never_ran(int arch);

/// Best first; empty exactly when limits() is not.
std::vector<plan::Plan> plans(std::string_view backend, const Problem& problem,
                              const DeviceSpec& device);

}  // namespace wgrad::kernels
