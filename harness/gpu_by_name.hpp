// GPUs that need not be there.
#pragma once

#include <string>

#include "wgrad/device_spec.hpp"

namespace wgrad::harness {

/// "sm90", "sm100" or "sm103" as the public data sheets of H200, B200 and B300 describe them.
DeviceSpec gpu_by_name(const std::string& name);

}  // namespace wgrad::harness
