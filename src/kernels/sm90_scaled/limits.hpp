// What the SM90 kernel for block-scaled operands cannot do beyond the contract: each limit and its
// sentence once.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "wgrad/device_spec.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::kernels::sm90_scaled {

// What every family for block-scaled operands refuses; each adds to `out` where its rule is broken.
// `chip`: "SM 9.0".

/// T, M, N and the row pitch of the output.
void check_extents(std::vector<Reason>& out, const Problem& problem, std::string_view chip);
/// A kernel that takes `smem` bytes of shared memory does not fit `device`: why.
void refuse_placement(std::vector<Reason>& out, const Problem& problem, const DeviceSpec& device,
                      std::int64_t smem, std::string_view chip);
/// One call: T, leading dimensions, where scale factors lie.
void check_call(std::vector<Reason>& out, const Problem& problem, const Operands& operands,
                std::string_view chip);

/// KernelFamily::limits.
std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device);

/// KernelFamily::check_operands: what the tensor maps ask of one call.
void check_operands(std::vector<Reason>& out, const Problem& problem, const Operands& operands);

}  // namespace wgrad::kernels::sm90_scaled
