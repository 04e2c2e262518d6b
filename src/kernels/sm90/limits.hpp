// What the SM90 kernel cannot do beyond the contract: each limit and its sentence once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "wgrad/device_spec.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::kernels::sm90 {

// What every family of SM 9.0 refuses; each adds to `out` where its rule is broken.

void refuse(std::vector<Reason>& out, const char* rule, const char* field, std::string got,
            std::string need);
/// Of the problem that a plan is made for, and of each call: T.
void check_tokens(std::vector<Reason>& out, const Problem& problem, std::int64_t tokens,
                  ReasonKind kind);
/// T, M and N.
void check_sizes(std::vector<Reason>& out, const Problem& problem);
/// The row pitch of the output.
void check_pitch(std::vector<Reason>& out, const Problem& problem);
/// An emulated GPU, for which `compiled` kernels were compiled and none of them serves.
void refuse_uncompiled(std::vector<Reason>& out, std::size_t compiled);

/// KernelFamily::limits.
std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device);

/// KernelFamily::check_operands: what the tensor maps ask of one call.
void check_operands(std::vector<Reason>& out, const Problem& problem, const Operands& operands);

}  // namespace wgrad::kernels::sm90
