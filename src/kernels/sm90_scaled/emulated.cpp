// KernelFamily::emulated.
#include "kernels/sm90_scaled/emulated.hpp"

#include <algorithm>

#include "emu/memory/shared_regions.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "kernels/sm90_scaled/emulated_kernels.hpp"
#include "wgrad/sm90_scaled/smem.hpp"

namespace wgrad::kernels::sm90_scaled {
namespace {

using shared::ScaledConfig;

const ScaledConfig& config_of(const plan::Plan& plan) {
  return plan.config.as<LaunchConfig>().kernel;
}

EmulatedKernel kernel_of(const plan::Plan& plan) {
  const auto& all = emulated_kernels();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const CompiledKernel& k) { return k.config == config_of(plan); });
  return found == all.end() ? nullptr : found->run;
}

/// No kernel of this family is traced.
void record_engines(const plan::Plan&, const std::vector<emu::EngineSpan>&, void*) {}

std::vector<emu::SharedRegion> shared_regions(const plan::Plan& plan) {
  return emu::shared_regions(shared::smem_table(config_of(plan)));
}

}  // namespace

const EmulatedFamily kEmulated = {
    .kernel = kernel_of, .shared_regions = shared_regions, .record_engines = record_engines};

}  // namespace wgrad::kernels::sm90_scaled
