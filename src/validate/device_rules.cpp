#include "validate/device_rules.hpp"

#include <fmt/format.h>

#include "validate/enumerator_rule.hpp"

namespace wgrad::validate {
namespace {

void check_multiprocessors(std::vector<Reason>& out, const DeviceSpec& device) {
  if (device.sm_count < 1) {
    out.push_back({"sm-count", "sm_count", fmt::format("{}", device.sm_count), "at least 1"});
  }
  if (device.sm_limit < 0) {
    out.push_back({"sm-limit", "sm_limit", fmt::format("{}", device.sm_limit),
                   "0 (no limit) or a positive number of multiprocessors"});
  }
}

}  // namespace

std::vector<Reason> broken_rules(const DeviceSpec& device) {
  std::vector<Reason> out;
  check_enumerator(out, "kind", device.kind);
  if (!out.empty()) return out;
  if (device.kind != DeviceKind::kCpu) {
    check_multiprocessors(out, device);
    return out;
  }
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
