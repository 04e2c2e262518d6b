// What the SM90 kernel cannot do beyond the contract: each limit and its sentence once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wgrad/device_spec.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad::kernels::sm90 {

// What every family refuses; each adds to `out` where its rule is broken. `chip`: "SM 9.0".

inline constexpr std::string_view kChip = "SM 9.0";

void refuse(std::vector<Reason>& out, const char* rule, const char* field, std::string got,
            std::string need);
/// Of the problem that a plan is made for, and of each call: T.
void check_tokens(std::vector<Reason>& out, const Problem& problem, std::int64_t tokens,
                  ReasonKind kind, std::string_view chip = kChip);
/// T, M and N.
void check_sizes(std::vector<Reason>& out, const Problem& problem, std::string_view chip = kChip);
/// The row pitch of the output.
void check_pitch(std::vector<Reason>& out, const Problem& problem, std::string_view chip = kChip);
/// One call of 16-bit operands: T, and what tensor maps ask of leading dimensions.
void check_call(std::vector<Reason>& out, const Problem& problem, const Operands& operands,
                std::string_view chip);
/// An emulated GPU, for which `compiled` kernels were compiled and none of them serves.
void refuse_uncompiled(std::vector<Reason>& out, std::size_t compiled);

/// KernelFamily::limits.
std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device);

/// KernelFamily::check_operands: what the tensor maps ask of one call.
void check_operands(std::vector<Reason>& out, const Problem& problem, const Operands& operands);

}  // namespace wgrad::kernels::sm90
