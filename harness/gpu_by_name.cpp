#include "harness/gpu_by_name.hpp"

#include "wgrad/precompile.hpp"

namespace wgrad::harness {

DeviceSpec gpu_by_name(const std::string& name) {
  DeviceSpec device = typical_cuda_device(90);
  device.name = "sm90 (as an H200)";
  if (name == "sm90") return device;
  device.name = "sm100 (as a B200)";
  device.arch = 100;
  device.sm_count = 148;
  device.l2_bytes = std::int64_t{126} << 20;
  return device;
}

}  // namespace wgrad::harness
