// KernelFamily::emulated.
#include "kernels/sm90_scaled/emulated.hpp"

#include <algorithm>

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
  const ScaledConfig& c = config_of(plan);
  const shared::ScaledSmemLayout s = shared::smem_layout(c);
  const auto count = [](std::int32_t n) { return static_cast<std::uint32_t>(n); };
  const std::uint32_t stages = count(c.stages), raw = count(c.raw_stages);
  const std::uint32_t slots = count(shared::math_warps(c) * c.ring_slots);
  const std::uint32_t barrier = shared::kBarrierBytes;
  return {{"decoded a", s.a, shared::a_stage_bytes(c), shared::decoded_a_tiles(c)},
          {"decoded b", s.b, shared::b_stage_bytes(c), stages},
          {"output ring slot", s.ring, count(shared::output_box_bytes(c)), slots},
          {"raw a", s.raw_a, count(shared::raw_a_bytes(c)), raw},
          {"raw b", s.raw_b, count(shared::raw_b_bytes(c)), raw},
          {"scales a", s.scales_a, shared::scale_bytes_a(c), raw},
          {"scales b", s.scales_b, shared::scale_bytes_b(c), raw},
          {"multipliers", s.multipliers, shared::multiplier_bytes(c), 2},
          {"columns", s.columns, 4, shared::kColumnCheckpoints},
          {"work scales", s.work_scales, 16, shared::kWorkSlots},
          {"flags", s.flags, shared::kFlagBytes, stages},
          {"work entry", s.work, shared::kWorkBytes, shared::kWorkSlots},
          {"raw full", s.raw_full, barrier, raw},
          {"raw empty", s.raw_empty, barrier, raw},
          {"full", s.full, barrier, stages},
          {"empty", s.empty, barrier, stages},
          {"readback", s.readback, barrier, slots},
          {"work full", s.work_full, barrier, shared::kWorkSlots},
          {"work empty", s.work_empty, barrier, shared::kWorkSlots},
          {"order", s.order, 2, count(shared::kMaxOrderedExperts)}};
}

}  // namespace

const EmulatedFamily kEmulated = {
    .kernel = kernel_of, .shared_regions = shared_regions, .record_engines = record_engines};

}  // namespace wgrad::kernels::sm90_scaled
