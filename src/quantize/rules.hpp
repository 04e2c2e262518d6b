// What a call of quantisation on a device must be, as far as the host can see.
#pragma once

#include "wgrad/device_quantize.hpp"
#include "wgrad/device_spec.hpp"

namespace wgrad::quantize {

/// Throws ValueError naming what the call breaks.
void check_call(const DeviceQuantization& call);

/// Throws RuntimeError where there is no kernel for `device`.
void check_device(const DeviceSpec& device);

}  // namespace wgrad::quantize
