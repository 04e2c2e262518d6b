#include "kernels/sm90/emulated/family.hpp"

#include <cstddef>
#include <map>

#include "emu/memory/shared_regions.hpp"
#include "kernels/emulated.hpp"
#include "kernels/sm90/config.hpp"
#include "kernels/sm90/emulated/kernels.hpp"
#include "wgrad/shared/trace.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::kernels::sm90 {
namespace {

using shared::Config;

const Config& config_of(const plan::Plan& plan) {
  return plan.config.as<LaunchConfig>().kernel;
}

EmulatedKernel kernel(const plan::Plan& plan) {
  const Config& c = config_of(plan);
  return kernel_of(c.trace ? emulated_traced_kernels() : emulated_kernels(), c);
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
  return emu::shared_regions(shared::smem_table(config_of(plan)));
}

}  // namespace

const EmulatedFamily* emulated() {
  static constexpr EmulatedFamily kEmulated = {
      .kernel = kernel, .shared_regions = shared_regions, .record_engines = record_engines};
  return &kEmulated;
}

}  // namespace wgrad::kernels::sm90
