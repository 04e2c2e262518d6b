#include "backends/cuda_backend.hpp"

#include "core/environment.hpp"
#include "jit/kernel_cache.hpp"
#include "kernels/family.hpp"
#include "kernels/search.hpp"
#include "launch/driver_launch.hpp"

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
  launch::DriverLaunch launch_;
};

class CudaBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return kName; }

  std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device) const override {
    if (device.kind == DeviceKind::kCuda) return kernels::limits_on_silicon(problem, device);
    return {{"device", "device", device.name.empty() ? "a CPU" : device.name,
             "a CUDA device for the cuda backend", ReasonKind::kMissingCapability}};
  }

  std::vector<plan::Plan> candidates(const Problem& problem,
                                     const DeviceSpec& device) const override {
    if (!limits(problem, device).empty()) return {};
    return kernels::plans(kName, problem, device);
  }

  plan::Plan traced(const Problem& problem, const plan::Plan& plan,
                    const DeviceSpec& device) const override {
    return plan.family->traced(problem, plan, device);
  }

  std::unique_ptr<const Kernel> build(const Problem& problem, const plan::Plan& plan,
                                      const DeviceSpec&,
                                      const PrepareOptions& options) const override {
    launch::Runtime& runtime = launch::Runtime::instance();
    const core::Environment environment = core::read_environment();
    const kernels::KernelSource source =
        jit::with_options_of(environment, plan.family->source(plan));
    const jit::CachedKernel code =
        jit::KernelCache::instance().get(source, jit::DiskCache::of(environment));
    auto loaded =
        runtime.load({code.key, code.cubin->bytes, source.entry, source.arch, source.shared_bytes});
    return std::make_unique<const CudaKernel>(runtime, problem, plan, std::move(loaded),
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
