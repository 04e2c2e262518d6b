#include "kernels/sm90_fp8/emulated/family.hpp"

#include "emu/memory/shared_regions.hpp"
#include "kernels/emulated.hpp"
#include "kernels/sm90_fp8/config.hpp"
#include "kernels/sm90_fp8/emulated/kernels.hpp"
#include "wgrad/sm90_fp8/smem.hpp"

namespace wgrad::kernels::sm90_fp8 {
namespace {

using shared::Fp8Config;

const Fp8Config& config_of(const plan::Plan& plan) {
  return plan.config.as<LaunchConfig>().kernel;
}

EmulatedKernel kernel(const plan::Plan& plan) {
  return kernel_of(emulated_kernels(), config_of(plan));
}

/// No kernel of this family is traced.
void record_engines(const plan::Plan&, const std::vector<emu::EngineSpan>&, void*) {}

std::vector<emu::SharedRegion> shared_regions(const plan::Plan& plan) {
  return emu::shared_regions(shared::smem_table(config_of(plan)));
}

}  // namespace

const EmulatedFamily* emulated() {
  static constexpr EmulatedFamily kEmulated = {
      .kernel = kernel, .shared_regions = shared_regions, .record_engines = record_engines};
  return &kEmulated;
}

}  // namespace wgrad::kernels::sm90_fp8
