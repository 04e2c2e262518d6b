#include "validate/device_rules.hpp"

#include <fmt/format.h>

#include "validate/enumerator_rule.hpp"

namespace wgrad::validate {

std::vector<Reason> broken_rules(const DeviceSpec& device) {
  std::vector<Reason> out;
  check_enumerator(out, "kind", device.kind);
  if (device.kind != DeviceKind::kCpu) return out;
  if (device.threads < 1) {
    out.push_back({"threads", "threads", fmt::format("{}", device.threads), "1 or more on a CPU"});
  }
  if (device.sm_limit != 0) {
    out.push_back(
        {"sm-limit", "sm_limit", fmt::format("{}", device.sm_limit), "0: the device is a CPU"});
  }
  return out;
}

}  // namespace wgrad::validate
