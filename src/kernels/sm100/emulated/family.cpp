#include "kernels/sm100/emulated/family.hpp"

#include "emu/memory/shared_regions.hpp"
#include "kernels/emulated.hpp"
#include "kernels/emulated_engines.hpp"
#include "kernels/sm100/config.hpp"
#include "kernels/sm100/emulated/kernels.hpp"
#include "wgrad/shared/trace.hpp"
#include "wgrad/sm100/smem.hpp"

namespace wgrad::kernels::sm100 {
namespace {

const Config& config_of(const plan::Plan& plan) {
  return plan.config.as<LaunchConfig>().kernel;
}

EmulatedKernel kernel(const plan::Plan& plan) {
  const Config& c = config_of(plan);
  return kernel_of(c.trace ? emulated_traced_kernels() : emulated_kernels(), c);
}

void record_engines(const plan::Plan& plan, const std::vector<emu::EngineSpan>& spans,
                    void* workspace) {
  record_engine_spans(plan, spans, shared::trace_tracks(config_of(plan)), workspace);
}

std::vector<emu::SharedRegion> shared_regions(const plan::Plan& plan) {
  return emu::shared_regions(smem_table(config_of(plan)));
}

}  // namespace

const EmulatedFamily* emulated() {
  static constexpr EmulatedFamily kEmulated = {
      .kernel = kernel, .shared_regions = shared_regions, .record_engines = record_engines};
  return &kEmulated;
}

}  // namespace wgrad::kernels::sm100
