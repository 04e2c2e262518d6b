// GPUs of a few SMs, as the emulator's tests ask for it.
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

inline DeviceSpec emulated_sm100(int sms = 4) {
  DeviceSpec spec = emulated_sm90(sms);
  spec.name = "emulated SM100";
  spec.arch = 100;
  return spec;
}

}  // namespace wgrad::test
