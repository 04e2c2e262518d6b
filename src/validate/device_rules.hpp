// The contract's limits on a DeviceSpec, whatever the backend.
#pragma once

#include <vector>

#include "wgrad/device_spec.hpp"
#include "wgrad/support.hpp"

namespace wgrad::validate {

/// Every rule that `device` breaks: its kind is one of the enumerators; a CPU has threads and no
/// multiprocessors to limit, a GPU at least one multiprocessor, and a limit is no negative number.
std::vector<Reason> broken_rules(const DeviceSpec& device);

}  // namespace wgrad::validate
