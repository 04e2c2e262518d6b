// Validation of device data: offsets and output addresses, copied back and judged before a launch.
#pragma once

#include "launch/driver_api.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::launch {

/// Waits for `stream`. Throws RuntimeError while it is captured, ValueError for data that breaks
/// the contract. A context of the operands' device must be current.
void validate_device_data(const DriverApi& api, const Problem& problem, const Operands& operands,
                          CuStream stream);

}  // namespace wgrad::launch
