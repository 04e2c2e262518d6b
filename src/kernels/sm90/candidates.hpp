// How the SM90 kernel computes a problem: which configurations fit, and which should be fastest.
#pragma once

#include <vector>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/cost.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::kernels::sm90 {

struct Candidate {
  LaunchConfig config;
  Cost cost;
};

/// What the SM90 kernel cannot do of `problem` on `device`; `problem` breaks no rule of the
/// contract.
std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device);

/// How many CTAs of a cluster should share a tile's tokens: Config::split_k, where it can be had.
/// An expert's sums follow it alone. So it is chosen for a typical number of tokens, MN-major
/// operands, overwritten 16-bit outputs and the whole device: nothing but E, M, N, the device and
/// the tiling arguments moves a bit.
int token_split(const Problem& problem, DeviceSpec device);

/// Best first. Empty exactly when limits() is not.
std::vector<Candidate> candidates(const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad::kernels::sm90
