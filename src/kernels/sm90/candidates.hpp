// Which configurations of the SM90 kernel compute a problem, and which should be fastest.
#pragma once

#include <vector>

#include "kernels/family.hpp"

namespace wgrad::kernels::sm90 {

/// Who shares a tile's tokens.
struct TokenShares {
  int split_k = 1;        ///< CTAs of a cluster
  int parts = 1;          ///< of an expert that meet in the workspace, at most
  int least_tokens = 64;  ///< of such a part

  bool operator==(const TokenShares&) const = default;
};

/// Who should, where it can be had. An expert's sums follow it alone. So it is chosen for a typical
/// number of tokens, MN-major operands, overwritten 16-bit outputs and the whole device: nothing
/// but E, M, N, the device and the tiling arguments, and whether there is a workspace, moves a bit.
TokenShares token_shares_of(const Problem& problem, DeviceSpec device);

/// KernelFamily::candidates; their configurations are LaunchConfigs.
std::vector<Candidate> candidates(const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad::kernels::sm90
