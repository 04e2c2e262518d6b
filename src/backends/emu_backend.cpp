#include "backends/emu_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "core/environment.hpp"
#include "kernels/family.hpp"
#include "kernels/search.hpp"
#include "launch/emulated_launch.hpp"
#include "validate/data_rules.hpp"
#include "validate/fault_text.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::backends {
namespace {

constexpr std::string_view kName = "emu";

class EmulatedKernel final : public Kernel {
 public:
  EmulatedKernel(kernels::EmulatedKernel kernel, const Problem& problem, const plan::Plan& plan,
                 bool validate)
      : kernel_(kernel), problem_(problem), plan_(plan) {
    const core::Environment environment = core::read_environment();
    seed_ = static_cast<std::uint64_t>(std::max(environment.emu_seed, 1));
    validate_ = validate || environment.validate;
  }

  /// Every launch meets another schedule.
  void launch(const Operands& operands) const override {
    std::vector<Reason> broken;
    plan_.family->check_operands(broken, problem_, operands);
    if (!broken.empty()) throw_if_unsupported({std::move(broken)});
    if (validate_) {
      throw_if_unsupported({validate::broken_host_data_rules(problem_, operands)});
    }
    shared::FaultRecord record{};
    launch::EmulatedSettings settings;
    settings.adversary.seed = seed_++;
    if (plan::region_offset(plan_, "trace") >= 0) settings.adversary.timing = emu::Timing::kModel;
    const emu::Outcome outcome =
        launch::launch_emulated(kernel_, problem_, plan_, operands, settings, record);
    if (record.kind != 0) note(record);
    if (outcome.fault) {
      throw RuntimeError(fmt::format("wgrad: the emulated machine reports under seed {}: {}",
                                     settings.adversary.seed, outcome.fault->text()));
    }
  }

  std::optional<DeviceFault> fault() const override {
    const std::lock_guard lock(mutex_);
    return fault_;
  }
  void clear_fault() const override {
    const std::lock_guard lock(mutex_);
    fault_.reset();
  }

 private:
  void note(const shared::FaultRecord& record) const {
    const std::lock_guard lock(mutex_);
    if (fault_) return;
    fault_ = DeviceFault{validate::fault_text(static_cast<shared::FaultKind>(record.kind)),
                         record.expert, record.value, record.limit};
  }

  kernels::EmulatedKernel kernel_;
  Problem problem_;
  plan::Plan plan_;
  bool validate_ = false;
  mutable std::atomic<std::uint64_t> seed_;
  mutable std::mutex mutex_;
  mutable std::optional<DeviceFault> fault_;
};

/// What a model of a GPU's time says is nothing that the emulator takes.
plan::Plan of_the_emulator(plan::Plan plan) {
  plan.summary = "emulated " + plan.summary;
  plan.predicted_ms = 0;
  plan.bound = "emulation";
  return plan;
}

class EmuBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return kName; }
  bool only_by_name() const noexcept override { return true; }

  std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device) const override {
    if (device.kind == DeviceKind::kEmulated) return kernels::limits(problem, device);
    return {{"device", "device", fmt::format("'{}'", device.name),
             "an emulated GPU, written by hand (DeviceKind::kEmulated)",
             ReasonKind::kMissingCapability}};
  }

  std::vector<plan::Plan> candidates(const Problem& problem,
                                     const DeviceSpec& device) const override {
    if (!limits(problem, device).empty()) return {};
    std::vector<plan::Plan> out = kernels::plans(kName, problem, device);
    std::transform(out.begin(), out.end(), out.begin(), of_the_emulator);
    return out;
  }

  plan::Plan traced(const Problem& problem, const plan::Plan& plan,
                    const DeviceSpec& device) const override {
    return of_the_emulator(plan.family->traced(problem, plan, device));
  }

  std::unique_ptr<const Kernel> build(const Problem& problem, const plan::Plan& plan,
                                      const DeviceSpec&,
                                      const PrepareOptions& options) const override {
    const auto kernel = plan.family->emulated()->kernel(plan);
    if (kernel == nullptr) throw RuntimeError("wgrad: the emulator has no kernel of this plan");
    return std::make_unique<const EmulatedKernel>(kernel, problem, plan,
                                                  options.validate_device_data);
  }
};

}  // namespace

const Backend& emu_backend() {
  static const EmuBackend kBackend;
  return kBackend;
}

}  // namespace wgrad::backends
