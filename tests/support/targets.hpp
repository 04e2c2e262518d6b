// The backends of this build on the devices of this machine.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "harness/memory/device.hpp"
#include "support/harness.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::test {

struct Target {
  std::string backend;
  DeviceSpec device;
  std::shared_ptr<Device> memory;
  bool by_driver = false;  ///< an emulated GPU's kernels, through the launcher of real ones
};

/// Prepares a problem; the result runs it, in a workspace of its own where the problem wants one.
std::function<void(const Operands&)> prepared(const Target& target, const Problem& problem);

/// Every backend that can run here; the reference, at least, always can.
const std::vector<Target>& targets();

/// The targets whose arithmetic is not the oracle's own; all of them where there is no other.
const std::vector<Target>& judged_targets();

/// For test names.
std::string target_name(const Target& target);
std::ostream& operator<<(std::ostream& out, const Target& target);

/// A CPU of two threads, written by hand.
DeviceSpec host_spec();

}  // namespace wgrad::test
