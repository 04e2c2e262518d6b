#include "backends/cuda_backend.hpp"

#include "core/environment.hpp"
#include "jit/kernel_cache.hpp"
#include "kernels/sm90/candidates.hpp"
#include "kernels/sm90/source.hpp"
#include "kernels/sm90/timeline.hpp"
#include "launch/sm90_launch.hpp"

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
    return kernels::sm90::limits(problem, device);
  }

  std::vector<plan::Plan> candidates(const Problem& problem,
                                     const DeviceSpec& device) const override {
    std::vector<plan::Plan> out;
    for (const kernels::sm90::Candidate& c : kernels::sm90::candidates(problem, device)) {
      out.push_back({.backend = std::string(kName),
                     .config = c.config,
                     .summary = kernels::sm90::summary(c.config),
                     .predicted_ms = c.cost.ms,
                     .bound = std::string(kernels::sm90::name(c.cost.bound))});
    }
    return out;
  }

  plan::Plan traced(const Problem&, const plan::Plan& plan, const DeviceSpec&) const override {
    return kernels::sm90::traced(plan);
  }

  std::unique_ptr<const Kernel> build(const Problem& problem, const plan::Plan& plan,
                                      const DeviceSpec&,
                                      const PrepareOptions& options) const override {
    launch::Runtime& runtime = launch::Runtime::instance();
    const auto& config = plan.config.as<kernels::sm90::LaunchConfig>();
    const core::Environment environment = core::read_environment();
    const kernels::KernelSource source = kernels::sm90::source(config.kernel);
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
