// KernelFamily::emulated.
#include "kernels/sm90/emulated.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/emulated_kernels.hpp"
#include "wgrad/shared/trace.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::kernels::sm90 {
namespace {

using shared::Config;

const Config& config_of(const plan::Plan& plan) {
  return plan.config.as<LaunchConfig>().kernel;
}

EmulatedKernel kernel_of(const plan::Plan& plan) {
  const Config& c = config_of(plan);
  const auto& all = c.trace ? emulated_traced_kernels() : emulated_kernels();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const CompiledKernel& k) { return k.config == c; });
  return found == all.end() ? nullptr : found->run;
}

/// What the engines did, into their tracks.
void record_engines(const plan::Plan& plan, const std::vector<emu::EngineSpan>& spans,
                    void* workspace) {
  const Config& c = config_of(plan);
  const std::int64_t offset = plan::region_offset(plan, "trace");
  if (offset < 0) return;
  auto* events = reinterpret_cast<shared::TraceEvent*>(static_cast<std::byte*>(workspace) + offset);
  constexpr shared::TraceKind kKinds[] = {shared::TraceKind::kEngineLoad,
                                          shared::TraceKind::kEngineMultiply,
                                          shared::TraceKind::kEngineStore};
  std::map<std::uint64_t, std::uint32_t> used;
  for (const emu::EngineSpan& span : spans) {
    const auto engine = static_cast<std::uint32_t>(span.engine);
    const std::uint32_t track = shared::trace_tracks(c) - shared::kTraceEngines + engine;
    const std::uint64_t first = shared::trace_track(c, span.cta, track);
    std::uint32_t& count = used[first];
    if (count == shared::kTraceEvents) continue;
    events[first + count++] = {static_cast<std::uint32_t>(span.begin),
                               static_cast<std::uint32_t>(span.end), kKinds[engine], span.amount};
  }
}

std::vector<emu::SharedRegion> shared_regions(const plan::Plan& plan) {
  const Config& c = config_of(plan);
  const shared::SmemLayout s = shared::smem_layout(c);
  const auto stages = static_cast<std::uint32_t>(c.stages);
  const auto warps = static_cast<std::uint32_t>(shared::math_warps(c));
  const std::uint32_t claims = shared::claims_together(c) ? shared::kClaimSlotsAhead : 0;
  const std::uint32_t slots = warps * static_cast<std::uint32_t>(c.ring_slots);
  return {
      {"a stage", s.a, shared::a_stage_bytes(c), stages},
      {"b stage", s.b, shared::b_stage_bytes(c), stages},
      {"output ring slot", s.ring, static_cast<std::uint32_t>(shared::output_box_bytes(c)), slots},
      {"full", s.full, shared::kBarrierBytes, stages},
      {"empty", s.empty, shared::kBarrierBytes, stages},
      {"readback", s.readback, shared::kBarrierBytes, slots},
      {"parts full", s.parts_full, shared::kBarrierBytes, c.split_k > 1 ? warps : 0},
      {"parts room", s.parts_room, shared::kBarrierBytes, c.split_k > 1 ? warps : 0},
      {"parts read", s.parts_read, shared::kBarrierBytes, c.split_k > 1 ? shared::kWorkSlots : 0},
      {"turn", s.turn, shared::kBarrierBytes, static_cast<std::uint32_t>(shared::kMathWarpgroups)},
      {"work entry", s.work, shared::kWorkBytes, shared::kWorkSlots},
      {"work full", s.work_full, shared::kBarrierBytes, shared::kWorkSlots},
      {"work empty", s.work_empty, shared::kBarrierBytes, shared::kWorkSlots},
      {"claim", s.claims, shared::kClaimBytes, claims},
      {"claim told", s.claim_told, shared::kBarrierBytes, claims},
      {"claim heard", s.claim_heard, shared::kBarrierBytes, claims},
      {"order", s.order, 2, static_cast<std::uint32_t>(shared::kMaxOrderedExperts)}};
}

}  // namespace

const EmulatedFamily kEmulated = {
    .kernel = kernel_of, .shared_regions = shared_regions, .record_engines = record_engines};

}  // namespace wgrad::kernels::sm90
