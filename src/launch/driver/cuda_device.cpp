#include "core/environment.hpp"
#include "launch/driver/runtime.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/errors.hpp"

namespace wgrad {

DeviceSpec cuda_device(int ordinal) {
  DeviceSpec device = launch::Runtime::instance().device_spec(ordinal);
  device.allow_unverified = core::read_environment().allow_unverified;
  return device;
}

int cuda_device_count() noexcept {
  try {
    return launch::Runtime::instance().device_count();
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace wgrad
