// A Hopper GPU of a few SMs, as the emulator's tests ask for it.
#pragma once

#include "plan/hopper.hpp"

namespace wgrad::test {

inline DeviceSpec emulated_sm90(int sms = 4) {
  DeviceSpec spec = hopper();
  spec.kind = DeviceKind::kEmulated;
  spec.name = "emulated SM90";
  spec.sm_count = sms;
  return spec;
}

}  // namespace wgrad::test
