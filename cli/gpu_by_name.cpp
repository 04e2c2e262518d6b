#include "cli/gpu_by_name.hpp"

namespace wgrad::cli {

DeviceSpec gpu_by_name(const std::string& name) {
  const bool hopper = name == "sm90";
  DeviceSpec d;
  d.kind = DeviceKind::kCuda;
  d.name = hopper ? "sm90 (as an H200)" : "sm100 (as a B200)";
  d.arch = hopper ? 90 : 100;
  d.sm_count = hopper ? 132 : 148;
  d.smem_bytes = 227LL * 1024;
  d.l2_bytes = (hopper ? 50LL : 126LL) * 1024 * 1024;
  return d;
}

}  // namespace wgrad::cli
