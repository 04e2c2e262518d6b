#include "kernels/emulated_engines.hpp"

#include <cstddef>
#include <map>

#include "wgrad/shared/trace.hpp"

namespace wgrad::kernels {

void record_engine_spans(const plan::Plan& plan, const std::vector<emu::EngineSpan>& spans,
                         std::uint32_t tracks, void* workspace) {
  const std::int64_t offset = plan::region_offset(plan, "trace");
  if (offset < 0) return;
  auto* events = reinterpret_cast<shared::TraceEvent*>(static_cast<std::byte*>(workspace) + offset);
  constexpr shared::TraceKind kKinds[] = {shared::TraceKind::kEngineLoad,
                                          shared::TraceKind::kEngineMultiply,
                                          shared::TraceKind::kEngineStore};
  std::map<std::uint64_t, std::uint32_t> used;
  for (const emu::EngineSpan& span : spans) {
    const auto engine = static_cast<std::uint32_t>(span.engine);
    const std::uint32_t track = tracks - shared::kTraceEngines + engine;
    const std::uint64_t first = (std::uint64_t{span.cta} * tracks + track) * shared::kTraceEvents;
    std::uint32_t& count = used[first];
    if (count == shared::kTraceEvents) continue;
    events[first + count++] = {static_cast<std::uint32_t>(span.begin),
                               static_cast<std::uint32_t>(span.end), kKinds[engine], span.amount};
  }
}

}  // namespace wgrad::kernels
