// How the SM 10.0 and 10.3 kernel for block-scaled operands computes a problem: which
// configurations fit, and which should be fastest.
#pragma once

#include <vector>

#include "kernels/family.hpp"

namespace wgrad::kernels::sm100_scaled {

/// KernelFamily::candidates.
std::vector<Candidate> candidates(const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad::kernels::sm100_scaled
