#include "kernels/sm100_scaled/emulated/family.hpp"

#include "emu/memory/shared_regions.hpp"
#include "kernels/emulated.hpp"
#include "kernels/sm100_scaled/config.hpp"
#include "kernels/sm100_scaled/emulated/kernels.hpp"
#include "wgrad/sm100_scaled/smem.hpp"

namespace wgrad::kernels::sm100_scaled {
namespace {

const Config& config_of(const plan::Plan& plan) {
  return plan.config.as<LaunchConfig>().kernel;
}

EmulatedKernel kernel(const plan::Plan& plan) {
  return kernel_of(emulated_kernels(), config_of(plan));
}

/// No kernel of this family is traced.
void record_engines(const plan::Plan&, const std::vector<emu::EngineSpan>&, void*) {}

std::vector<emu::SharedRegion> shared_regions(const plan::Plan& plan) {
  return emu::shared_regions(smem_table(config_of(plan)));
}

}  // namespace

const EmulatedFamily* emulated() {
  static constexpr EmulatedFamily kEmulated = {
      .kernel = kernel, .shared_regions = shared_regions, .record_engines = record_engines};
  return &kEmulated;
}

}  // namespace wgrad::kernels::sm100_scaled
