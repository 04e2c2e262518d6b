#include "harness/gpu_by_name.hpp"

#include "wgrad/precompile.hpp"

namespace wgrad::harness {

DeviceSpec gpu_by_name(const std::string& name) {
  DeviceSpec device = typical_cuda_device(name == "sm90" ? 90 : name == "sm103" ? 103 : 100);
  device.name = name == "sm90"    ? "sm90 (as an H200)"
                : name == "sm103" ? "sm103 (as a B300)"
                                  : "sm100 (as a B200)";
  return device;
}

}  // namespace wgrad::harness
