#include "wgrad/executable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/choice.hpp"
#include "core/counted.hpp"
#include "kernels/family.hpp"
#include "validate/data_rules.hpp"
#include "validate/operand_rules.hpp"
#include "wgrad/errors.hpp"

namespace wgrad {

struct Executable::State {
  Problem problem;
  std::string backend;
  plan::Plan plan;
  std::unique_ptr<const backends::Kernel> kernel;
  bool traced = false;
  bool on_cpu = false;  // offsets and addresses of outputs are host data
};

namespace {

/// Whether offsets, and addresses of outputs where there are some, can be read at all.
bool data_can_be_read(const Operands& o, const std::vector<Reason>& broken) {
  return o.offsets != nullptr &&
         std::none_of(broken.begin(), broken.end(), [](const Reason& reason) {
           return reason.field == "offsets" || reason.field == "wgrad_ptrs" ||
                  reason.rule == "extent";
         });
}

}  // namespace

namespace {

plan::Plan candidate(const Problem& problem, const DeviceSpec& device, const api::Choice& choice,
                     int wanted) {
  if (wanted == 0) return choice.plan;
  const auto candidates = choice.backend->candidates(problem, device);
  if (wanted > 0 && wanted < static_cast<int>(candidates.size()))
    return candidates[static_cast<std::size_t>(wanted)];
  throw ValueError(fmt::format(
      "wgrad: candidate is {}; it must be from 0 to {}, the candidates of the {} backend", wanted,
      candidates.size() - 1, choice.backend->name()));
}

}  // namespace

Executable prepare(const Problem& problem, const DeviceSpec& device,
                   const PrepareOptions& options) {
  api::Choice choice = api::choose(problem, device, options.backend);
  throw_if_unsupported({choice.reasons});
  choice.plan = candidate(problem, device, choice, options.candidate);
  if (options.trace) choice.plan = choice.backend->traced(problem, choice.plan, device);
  auto kernel = choice.backend->build(problem, choice.plan, device, options);
  return Executable(std::make_shared<const Executable::State>(
      Executable::State{problem, std::string(choice.backend->name()), std::move(choice.plan),
                        std::move(kernel), options.trace, device.kind == DeviceKind::kCpu}));
}

Executable::Executable(std::shared_ptr<const State> state) : state_(std::move(state)) {}

void Executable::run(const Operands& operands) const {
  std::vector<Reason> broken = validate::broken_rules(state_->problem, operands, workspace_bytes());
  if (state_->traced && operands.workspace == nullptr) {
    broken.push_back({"trace-workspace", "workspace", "null",
                      fmt::format("{} zeroed bytes for a traced run", workspace_bytes())});
  }
  if (state_->problem.workspace && operands.workspace == nullptr && workspace_bytes() > 1) {
    broken.push_back({"workspace", "workspace", "null",
                      fmt::format("{} bytes, as Problem::workspace says", workspace_bytes())});
  }
  constexpr std::uintptr_t kAlignment = 16;
  if (workspace_bytes() > 1 &&
      reinterpret_cast<std::uintptr_t>(operands.workspace) % kAlignment != 0) {
    broken.push_back({"workspace", "workspace",
                      fmt::format("at address {}", fmt::ptr(operands.workspace)),
                      fmt::format("at a multiple of {} bytes", kAlignment)});
  }
  if (!broken.empty()) {
    if (state_->on_cpu && data_can_be_read(operands, broken)) {
      api::append(broken, validate::broken_host_data_rules(state_->problem, operands));
    }
    throw_if_unsupported({std::move(broken)});
  }
  state_->kernel->launch(operands);
}

Timeline Executable::timeline(std::span<const std::byte> workspace) const {
  if (!state_->traced) {
    throw ValueError("wgrad: trace is false; it must be true: only a traced run has a timeline");
  }
  const auto given = static_cast<std::int64_t>(workspace.size());
  if (given < workspace_bytes()) {
    throw ValueError(fmt::format("wgrad: workspace is {}; it must be at least {}",
                                 core::counted(given, "byte"),
                                 core::counted(workspace_bytes(), "byte")));
  }
  return state_->plan.family->read_trace(state_->plan, workspace);
}

std::optional<DeviceFault> Executable::fault() const {
  return state_->kernel->fault();
}
void Executable::clear_fault() const {
  state_->kernel->clear_fault();
}
std::int64_t Executable::workspace_bytes() const noexcept {
  return plan::workspace_bytes(state_->plan);
}
const Problem& Executable::problem() const noexcept {
  return state_->problem;
}
std::string_view Executable::backend() const noexcept {
  return state_->backend;
}
const std::string& Executable::plan() const noexcept {
  return state_->plan.summary;
}

}  // namespace wgrad
