// How the SM90 kernel computes an FP8 problem: which configurations fit, and which should be
// fastest.
#pragma once

#include <vector>

#include "kernels/family.hpp"

namespace wgrad::kernels::sm90_fp8 {

/// KernelFamily::candidates.
std::vector<Candidate> candidates(const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad::kernels::sm90_fp8
