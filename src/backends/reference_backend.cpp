#include "backends/reference_backend.hpp"

#include "validate/data_rules.hpp"
#include "wgrad/reference.hpp"

namespace wgrad::backends {
namespace {

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const Problem& problem) : problem_(problem) {}

  void launch(const Operands& operands) const override {
    throw_if_unsupported({validate::broken_host_data_rules(problem_, operands)});
    reference::run(problem_, operands);
  }

 private:
  Problem problem_;
};

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "reference"; }
  bool only_by_name() const noexcept override { return true; }

  std::vector<Reason> limits(const Problem&, const DeviceSpec& device) const override {
    if (device.kind == DeviceKind::kCpu) return {};
    return {{"device", "device", device.name, "a CPU for the reference backend",
             ReasonKind::kMissingCapability}};
  }

  std::vector<plan::Plan> candidates(const Problem& problem,
                                     const DeviceSpec& device) const override {
    if (!limits(problem, device).empty()) return {};
    return {{.backend = "reference", .summary = "plain loops in double", .bound = ""}};
  }

  std::unique_ptr<const Kernel> build(const Problem& problem, const plan::Plan&, const DeviceSpec&,
                                      const PrepareOptions&) const override {
    return std::make_unique<ReferenceKernel>(problem);
  }
};

}  // namespace

const Backend& reference_backend() {
  static const ReferenceBackend kBackend;
  return kBackend;
}

}  // namespace wgrad::backends
