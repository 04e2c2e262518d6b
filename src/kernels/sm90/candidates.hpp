// Which configurations of the SM90 kernel compute a problem, and which should be fastest.
#pragma once

#include <vector>

#include "kernels/family.hpp"

namespace wgrad::kernels::sm90 {

/// How many CTAs of a cluster should share a tile's tokens: Config::split_k, where it can be had.
/// An expert's sums follow it alone. So it is chosen for a typical number of tokens, MN-major
/// operands, overwritten 16-bit outputs and the whole device: nothing but E, M, N, the device and
/// the tiling arguments moves a bit.
int token_split(const Problem& problem, DeviceSpec device);

/// KernelFamily::candidates; their configurations are LaunchConfigs.
std::vector<Candidate> candidates(const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad::kernels::sm90
