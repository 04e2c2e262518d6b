// Validation of device data: offsets and output addresses, copied back and judged before a launch.
#pragma once

#include <cstdint>
#include <vector>

#include "launch/driver/driver_api.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::launch {

/// Waits for `stream`. Throws RuntimeError while it is captured, ValueError for data that breaks
/// the contract. A context of the operands' device must be current.
void validate_device_data(const DriverApi& api, const Problem& problem, const Operands& operands,
                          CuStream stream);

/// The offsets of a call, once `stream` has got to it. Waits; throws RuntimeError while it is
/// captured. A context of the offsets' device must be current.
std::vector<std::int32_t> offsets_read_back(const DriverApi& api, const std::int32_t* offsets,
                                            std::int64_t experts, CuStream stream);

}  // namespace wgrad::launch
