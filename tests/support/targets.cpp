#include "support/targets.hpp"

#include <string_view>
#include <utility>

#include "backends/backend.hpp"
#include "harness/cases/case.hpp"
#include "harness/memory/cuda_device.hpp"
#include "support/planned/emulated_device.hpp"
#include "support/settings.hpp"
#include "wgrad/executable.hpp"
#ifdef WGRAD_TEST_HAS_EMU
#include "support/driver/emulated_driver.hpp"
#endif

namespace wgrad::test {
namespace {

/// A device's memory as tests reach it. A new kind of device enters here.
struct Machine {
  DeviceSpec device;
  std::shared_ptr<Device> memory;
};

std::vector<Target> find_emulated() {
  for (const backends::Backend* backend : backends::all()) {
    if (backend->name() != "emu") continue;
    const bool by_driver = settings().by_driver;
    const bool sm100 = settings().emulate == 100 && !by_driver;
    return {{"emu", sm100 ? emulated_sm100() : emulated_sm90(), host_device(), by_driver}};
  }
  return {};
}

std::vector<Machine> machines() {
  if (cuda_device_count() == 0) return {{host_spec(), host_device()}};
  return {{host_spec(), host_device()}, {cuda_device(0), cuda_memory(0)}};
}

/// A problem that every backend has to know.
Problem plain_problem() {
  Problem p = problem_of(formats().front(), 64, 64);
  p.experts = 1;
  return p;
}

std::vector<Target> find_targets() {
  std::vector<Target> found;
  for (const backends::Backend* backend : backends::all()) {
    for (const Machine& machine : machines()) {
      if (backend->limits(plain_problem(), machine.device).empty()) {
        found.push_back({std::string(backend->name()), machine.device, machine.memory});
      }
    }
  }
  if (settings().emulate == 0 && !settings().by_driver) return found;
  // Alone: the suite is long there, and the other backends have their own runs.
  std::vector<Target> emulated = find_emulated();
  return emulated.empty() ? found : emulated;
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> kTargets = find_targets();
  return kTargets;
}

const std::vector<Target>& judged_targets() {
  static const std::vector<Target> kJudged = [] {
    std::vector<Target> judged;
    for (const Target& target : targets()) {
      if (target.backend != "reference") judged.push_back(target);
    }
    return judged.empty() ? targets() : judged;
  }();
  return kJudged;
}

std::string target_name(const Target& target) {
  return target.by_driver ? "driver" : target.backend;
}

namespace {

/// Where the problem asks for one; empty otherwise.
std::shared_ptr<const Buffer> dirty_workspace(const Target& target, const Problem& problem,
                                              std::int64_t bytes) {
  const std::vector<std::uint8_t> dirty(static_cast<std::size_t>(problem.workspace ? bytes : 0),
                                        0xA5);
  return std::make_shared<const Buffer>(target.memory, dirty);
}

Operands with_workspace(Operands operands, const Buffer& workspace) {
  operands.workspace = workspace.data();
  operands.workspace_bytes = workspace.bytes();
  return operands;
}

}  // namespace

std::function<void(const Operands&)> prepared(const Target& target, const Problem& problem) {
#ifdef WGRAD_TEST_HAS_EMU
  if (target.by_driver) {
    const auto driver = std::make_shared<EmulatedDriver>(problem);
    const auto workspace = dirty_workspace(target, problem, driver->workspace_bytes());
    return [driver, workspace](const Operands& operands) {
      driver->launch(with_workspace(operands, *workspace));
    };
  }
#endif
  const auto executable = std::make_shared<const Executable>(
      prepare(problem, target.device, {.backend = target.backend}));
  const auto workspace = dirty_workspace(target, problem, executable->workspace_bytes());
  return [executable, workspace](const Operands& operands) {
    executable->run(with_workspace(operands, *workspace));
  };
}

std::ostream& operator<<(std::ostream& out, const Target& target) {
  return out << target_name(target);
}

DeviceSpec host_spec() {
  DeviceSpec spec;
  spec.kind = DeviceKind::kCpu;
  spec.name = "test CPU";
  spec.threads = 2;
  return spec;
}

}  // namespace wgrad::test
