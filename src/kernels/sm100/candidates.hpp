// Which configurations of the SM 10.0 and 10.3 kernel compute a problem, and which should be
// fastest.
#pragma once

#include <vector>

#include "kernels/family.hpp"

namespace wgrad::kernels::sm100 {

/// KernelFamily::candidates; their configurations are LaunchConfigs.
std::vector<Candidate> candidates(const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad::kernels::sm100
