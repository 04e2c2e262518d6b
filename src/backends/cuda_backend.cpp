#include "backends/cuda_backend.hpp"

#include "codegen/sm90_source.hpp"
#include "core/environment.hpp"
#include "jit/kernel_cache.hpp"
#include "launch/sm90_launch.hpp"
#include "plan/sm90_plan.hpp"
#include "plan/sm90_timeline.hpp"

namespace wgrad::backends {
namespace {

constexpr std::string_view kName = "cuda";

class CudaKernel final : public Kernel {
 public:
  template <typename... Arguments>
  explicit CudaKernel(Arguments&&... arguments) : launch_(std::forward<Arguments>(arguments)...) {}

  void launch(const Operands& operands) const override { launch_.launch(operands); }
  std::optional<DeviceFault> fault() const override { return launch_.fault(); }
  void clear_fault() const override { launch_.clear_fault(); }

 private:
  launch::Sm90Launch launch_;
};

class CudaBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return kName; }

  std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device) const override {
    return plan::sm90_limits(problem, device);
  }

  std::vector<plan::Plan> candidates(const Problem& problem,
                                     const DeviceSpec& device) const override {
    std::vector<plan::Plan> out;
    for (const plan::Sm90Candidate& c : plan::sm90_candidates(problem, device)) {
      out.push_back({.backend = std::string(kName),
                     .config = c.config,
                     .summary = plan::summary(c.config),
                     .predicted_ms = c.cost.ms,
                     .bound = std::string(plan::name(c.cost.bound))});
    }
    return out;
  }

  plan::Plan traced(const Problem&, const plan::Plan& plan, const DeviceSpec&) const override {
    return plan::traced(plan);
  }

  std::unique_ptr<const Kernel> build(const Problem& problem, const plan::Plan& plan,
                                      const DeviceSpec&,
                                      const PrepareOptions& options) const override {
    launch::Runtime& runtime = launch::Runtime::instance();
    const auto& config = std::get<plan::Sm90Config>(plan.config);
    const core::Environment environment = core::read_environment();
    const codegen::KernelSource source = codegen::sm90_source(config.kernel);
    const jit::CachedKernel code =
        jit::KernelCache::instance().get(source, jit::DiskCache::of(environment));
    auto loaded = runtime.load(code.key, code.cubin->bytes, source.entry, config.smem_bytes);
    return std::make_unique<const CudaKernel>(runtime, problem, config, std::move(loaded),
                                              options.validate_device_data || environment.validate,
                                              options.device);
  }
};

}  // namespace

const Backend& cuda_backend() {
  static const CudaBackend kBackend;
  return kBackend;
}

}  // namespace wgrad::backends
