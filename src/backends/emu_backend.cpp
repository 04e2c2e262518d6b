#include "backends/emu_backend.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "backends/emu_instances.hpp"
#include "backends/emu_launch.hpp"
#include "backends/emu_scaled.hpp"
#include "core/environment.hpp"
#include "kernels/family.hpp"
#include "kernels/search.hpp"
#include "kernels/sm90/candidates.hpp"
#include "kernels/sm90/config.hpp"
#include "kernels/sm90/cost.hpp"
#include "kernels/sm90/timeline.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "validate/data_rules.hpp"
#include "validate/fault_text.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::backends {
namespace {

constexpr std::string_view kName = "emu";

bool is_traced(const EmuKernel& kernel) {
  return kernel.config.trace;
}
bool is_traced(const ScaledEmuKernel&) {
  return false;
}

/// `OfFamily`: EmuKernel or ScaledEmuKernel.
template <typename OfFamily>
class EmulatedKernel final : public Kernel {
 public:
  EmulatedKernel(const OfFamily& kernel, const Problem& problem, const DeviceSpec& device,
                 bool validate)
      : kernel_(kernel), problem_(problem), sm_count_(kernels::sm90::usable_sms(device)) {
    const core::Environment environment = core::read_environment();
    seed_ = static_cast<std::uint64_t>(std::max(environment.emu_seed, 1));
    validate_ = validate || environment.validate;
  }

  /// Every launch meets another schedule.
  void launch(const Operands& operands) const override {
    if (validate_) {
      throw_if_unsupported({validate::broken_host_data_rules(problem_, operands)});
    }
    shared::FaultRecord record{};
    EmuSettings settings;
    settings.sm_count = sm_count_;
    settings.adversary.seed = seed_++;
    if (is_traced(kernel_)) settings.adversary.timing = emu::Timing::kModel;
    const emu::Outcome outcome = launch_emulated(kernel_, problem_, operands, settings, record);
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

  OfFamily kernel_;
  Problem problem_;
  int sm_count_;
  bool validate_ = false;
  mutable std::atomic<std::uint64_t> seed_;
  mutable std::mutex mutex_;
  mutable std::optional<DeviceFault> fault_;
};

/// What mma_tiler_mn and cluster_shape_mn ask for, as the SM90 planner reads them.
bool tiling_allows(const Problem& problem, const shared::Config& c) {
  const auto allowed = kernels::sm90::allowed_configs(problem);
  return std::any_of(allowed.begin(), allowed.end(), [&](const shared::Config& a) {
    return a.tile_n == c.tile_n && a.cluster_m == c.cluster_m && a.split_k == c.split_k &&
           a.split == c.split;
  });
}

std::vector<const EmuKernel*> usable(const std::vector<EmuKernel>& kernels, const Problem& problem,
                                     const DeviceSpec& device) {
  std::vector<const EmuKernel*> out;
  for (const EmuKernel& kernel : kernels) {
    if (serves(kernel.config, problem) && kernels::sm90::fits(kernel.config, problem, device) &&
        tiling_allows(problem, kernel.config)) {
      out.push_back(&kernel);
    }
  }
  const int split = kernels::sm90::token_split(problem, device);
  const auto rank = [&](const EmuKernel* k) {
    return std::pair(k->config.split_k != split,
                     kernels::sm90::ranked_ms(k->config, problem, device));
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const EmuKernel* x, const EmuKernel* y) { return rank(x) < rank(y); });
  return out;
}

const kernels::KernelFamily* family_of(const Problem& problem) {
  const auto families = kernels::families();
  return *std::find_if(families.begin(), families.end(),
                       [&](const kernels::KernelFamily* f) { return f->takes(problem); });
}

/// Of kernels that serve one problem: do they differ in nothing that a planner chooses?
bool same_choice(const shared::Config& x, const shared::Config& y) {
  return same_fields(x, y, shared::FieldOrigin::kChoice, shared::FieldOrigin::kDepth);
}

std::vector<plan::Plan> scaled_candidates(const Problem& problem, const DeviceSpec& device) {
  std::vector<plan::Plan> out;
  for (const ScaledEmuKernel* kernel : usable_scaled(problem, device)) {
    const auto config = kernels::sm90_scaled::launch_values(kernel->config, problem, device);
    out.push_back({.backend = std::string(kName),
                   .family = family_of(problem),
                   .config = config,
                   .summary = "emulated " + kernels::sm90_scaled::summary(config),
                   .bound = "emulation"});
  }
  return out;
}

std::unique_ptr<const Kernel> build_scaled(const Problem& problem, const plan::Plan& plan,
                                           const DeviceSpec& device, bool validate) {
  const auto& wanted = plan.config.as<kernels::sm90_scaled::LaunchConfig>().kernel;
  for (const ScaledEmuKernel* kernel : usable_scaled(problem, device)) {
    if (kernel->config == wanted)
      return std::make_unique<const EmulatedKernel<ScaledEmuKernel>>(*kernel, problem, device,
                                                                     validate);
  }
  throw RuntimeError("wgrad: the emulator has no kernel of this plan");
}

class EmuBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return kName; }
  bool only_by_name() const noexcept override { return true; }

  std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device) const override {
    // A real GPU's operands are not the host's to read.
    if (device.name.rfind("emulated", 0) != 0) {
      return {{"device", "device", fmt::format("'{}'", device.name),
               "an SM 9.0 device written by hand whose name begins with 'emulated'",
               ReasonKind::kMissingCapability}};
    }
    std::vector<Reason> out = kernels::limits(problem, device);
    if (!out.empty()) return out;
    const bool any = problem.scales ? !usable_scaled(problem, device).empty()
                                    : !usable(emu_kernels(), problem, device).empty();
    if (any) return out;
    return {{"emu-kernel", "problem", "a combination of types, majors and modes",
             fmt::format("one of the {} that the emulator's kernels were compiled for",
                         problem.scales ? emu_scaled_kernels().size() : emu_kernels().size()),
             ReasonKind::kMissingCapability}};
  }

  std::vector<plan::Plan> candidates(const Problem& problem,
                                     const DeviceSpec& device) const override {
    std::vector<plan::Plan> out;
    if (!limits(problem, device).empty()) return out;
    if (problem.scales) return scaled_candidates(problem, device);
    for (const EmuKernel* kernel : usable(emu_kernels(), problem, device)) {
      const kernels::sm90::LaunchConfig config =
          kernels::sm90::launch_values(kernel->config, problem, device);
      out.push_back({.backend = std::string(kName),
                     .family = family_of(problem),
                     .config = config,
                     .summary = "emulated " + kernels::sm90::summary(config),
                     .bound = "emulation"});
    }
    return out;
  }

  /// The planner's own kernel, where it was compiled; else what should be fastest of the others.
  plan::Plan traced(const Problem& problem, const plan::Plan& plan,
                    const DeviceSpec& device) const override {
    if (problem.scales) return plan.family->traced(problem, plan, device);
    const auto kernels = usable(emu_traced_kernels(), problem, device);
    if (kernels.empty()) {
      throw RuntimeError(
          fmt::format("wgrad: problem is a combination of types, majors and modes; it must be one "
                      "of the {} that "
                      "the emulator's traced kernels were compiled for",
                      emu_traced_kernels().size()));
    }
    kernels::sm90::LaunchConfig planned =
        kernels::plans(kName, problem, device).front().config.as<kernels::sm90::LaunchConfig>();
    planned.kernel.trace = true;
    const auto exact = std::find_if(kernels.begin(), kernels.end(), [&](const EmuKernel* k) {
      return same_choice(k->config, planned.kernel);
    });
    const EmuKernel& kernel = exact == kernels.end() ? *kernels.front() : **exact;
    const kernels::sm90::LaunchConfig config =
        kernels::sm90::launch_values(kernel.config, problem, device);
    plan::Plan out = plan;
    out.config = config;
    out.summary = "emulated " + kernels::sm90::summary(config);
    if (exact == kernels.end()) {
      const shared::Config& p = planned.kernel;
      out.summary += fmt::format(
          ", in place of {}x{}x{}, last columns {}, cluster {}x1, {} CTAs sharing tokens", p.tile_m,
          p.tile_n, p.tile_k, p.tail_n == 0 ? p.tile_n : p.tail_n, p.cluster_m, p.split_k);
    }
    return kernels::sm90::traced(problem, out, device);
  }

  std::unique_ptr<const Kernel> build(const Problem& problem, const plan::Plan& plan,
                                      const DeviceSpec& device,
                                      const PrepareOptions& options) const override {
    if (problem.scales) return build_scaled(problem, plan, device, options.validate_device_data);
    const shared::Config& wanted = plan.config.as<kernels::sm90::LaunchConfig>().kernel;
    const auto& kernels = wanted.trace ? emu_traced_kernels() : emu_kernels();
    for (const EmuKernel* kernel : usable(kernels, problem, device)) {
      if (same_choice(kernel->config, wanted)) {
        return std::make_unique<const EmulatedKernel<EmuKernel>>(*kernel, problem, device,
                                                                 options.validate_device_data);
      }
    }
    throw RuntimeError("wgrad: the emulator has no kernel of this plan");
  }
};

}  // namespace

const Backend& emu_backend() {
  static const EmuBackend kBackend;
  return kBackend;
}

}  // namespace wgrad::backends
