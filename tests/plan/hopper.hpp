// A Hopper device written by hand.
#pragma once

#include "wgrad/device_spec.hpp"

namespace wgrad {

inline DeviceSpec hopper() {
  DeviceSpec device;
  device.kind = DeviceKind::kCuda;
  device.name = "an H200";
  device.arch = 90;
  device.sm_count = 132;
  device.smem_bytes = 232448;
  device.l2_bytes = std::int64_t{60} << 20;
  return device;
}

}  // namespace wgrad
