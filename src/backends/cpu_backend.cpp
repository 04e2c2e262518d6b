#include "backends/cpu_backend.hpp"

#include "cpu/grouped_matmul.hpp"
#include "plan/cpu_plan.hpp"
#include "validate/data_rules.hpp"

namespace wgrad::backends {
namespace {

class CpuKernel final : public Kernel {
 public:
  CpuKernel(const Problem& problem, const plan::CpuConfig& config)
      : problem_(problem), matmul_(problem, config) {}

  /// Offsets and addresses are host memory here, so they are always judged before any work.
  void launch(const Operands& operands) const override {
    throw_if_unsupported({validate::broken_host_data_rules(problem_, operands)});
    matmul_.run(operands);
  }

 private:
  Problem problem_;
  cpu::GroupedMatmul matmul_;
};

class CpuBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "cpu"; }

  std::vector<Reason> limits(const Problem&, const DeviceSpec& device) const override {
    if (device.kind == DeviceKind::kCpu) return {};
    return {{"device", "device", device.name, "a CPU for the cpu backend",
             ReasonKind::kMissingCapability}};
  }

  std::vector<plan::Plan> candidates(const Problem& problem,
                                     const DeviceSpec& device) const override {
    if (!limits(problem, device).empty()) return {};
    const plan::CpuConfig config = plan::plan_cpu(problem, device);
    return {{.backend = "cpu",
             .config = config,
             .summary = plan::summary(config, problem),
             .bound = ""}};
  }

  std::unique_ptr<const Kernel> build(const Problem& problem, const plan::Plan& plan,
                                      const DeviceSpec&, const PrepareOptions&) const override {
    return std::make_unique<CpuKernel>(problem, plan.config.as<plan::CpuConfig>());
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const CpuBackend kBackend;
  return kBackend;
}

}  // namespace wgrad::backends
