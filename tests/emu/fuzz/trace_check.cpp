#include "emu/fuzz/trace_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "emu/time_model.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::test {
namespace {

using shared::Config;
using shared::TraceEvent;
using shared::TraceKind;
using Track = std::span<const TraceEvent>;

constexpr std::uint32_t kWarpgroupWarps = 4;

std::string anchor_fault(const TraceEvent& e) {
  const std::uint64_t timer = std::uint64_t{e.detail} << 32 | e.end;
  const auto clock = static_cast<std::uint64_t>(e.begin / emu::TimeModel::kCyclesPerNanosecond);
  if (e.kind != TraceKind::kAnchor) return "no anchor at an end";
  return timer == clock ? "" : fmt::format("an anchor of clock {} and timer {}", e.begin, timer);
}

// Anchors at both ends; between them events in the order of their ends.
std::string track_fault(Track events) {
  if (events.size() < 2) return fmt::format("{} events", events.size());
  for (const TraceEvent* e : {&events.front(), &events.back()}) {
    if (std::string fault = anchor_fault(*e); !fault.empty()) return fault;
  }
  std::uint32_t time = events.front().begin;
  for (const TraceEvent& e : events.subspan(1, events.size() - 2)) {
    if (e.kind == TraceKind::kAnchor) return "an anchor in the middle";
    if (e.begin > e.end) return fmt::format("an event from {} to {}", e.begin, e.end);
    if (e.end < time) return fmt::format("an event that ends at {}, after one at {}", e.end, time);
    time = e.end;
  }
  return time <= events.back().begin ? "" : "an anchor before the last event";
}

// The n-th stage filled or multiplied lies in slot n of the ring.
std::string stages_fault(const Config& c, Track events, TraceKind kind) {
  std::uint32_t count = 0;
  for (const TraceEvent& e : events) {
    if (e.kind != kind) continue;
    if (e.detail != count++ % static_cast<std::uint32_t>(c.stages))
      return fmt::format("stage {} as number {}", e.detail, count - 1);
  }
  return "";
}

struct Totals {
  std::uint64_t copies = 0, waits = 0, products = 0, tiles = 0;
  bool waited = false;  // anything took time
  bool full = false;    // a track had no room left
};

void add(Totals& totals, Track events) {
  for (const TraceEvent& e : events) {
    totals.copies += e.kind == TraceKind::kCopy ? 1 : 0;
    totals.waits += e.kind == TraceKind::kWaitFull ? 1 : 0;
    totals.products += e.kind == TraceKind::kMultiply ? 1 : 0;
    totals.tiles += e.kind == TraceKind::kTile ? 1 : 0;
    totals.waited |= e.kind == TraceKind::kWaitFull && e.begin < e.end;
  }
  totals.full |= events.size() == shared::kTraceEvents;
}

std::string totals_fault(const Config& c, const KernelCase& k, bool timed, const Totals& got) {
  const shared::TileGrid grid =
      shared::tile_grid(c, static_cast<std::int32_t>(k.m), static_cast<std::int32_t>(k.n),
                        static_cast<std::int32_t>(k.counts.size()), 1);
  std::uint64_t least = 0;  // k blocks of all tiles
  for (const std::int64_t count : k.counts)
    least += static_cast<std::uint64_t>((count + c.tile_k - 1) / c.tile_k);
  least *= shared::tiles_per_expert(grid) * static_cast<std::uint64_t>(c.cluster_m);
  const auto math = kWarpgroupWarps * static_cast<std::uint64_t>(shared::warpgroups_per_tile(c));
  const std::uint64_t tiles =
      shared::tile_count(grid) * static_cast<std::uint64_t>(shared::cluster_ctas(c)) * math;
  const std::uint64_t blocks = got.products / math;
  // A loader's first block may be a short one, and an end past the tokens a block further.
  const bool more = shared::uses_loader(c) || k.broken == Broken::kOffsetBeyond;
  // Who moves rows waits for the next stage as well.
  const bool waits =
      shared::moves_rows(c) ? got.waits >= blocks * math : got.waits == blocks * math;
  if (got.tiles != tiles || !waits || got.products != blocks * math ||
      got.copies != blocks * (shared::uses_loader(c) ? kWarpgroupWarps : 1) ||
      (more ? blocks < least : blocks != least)) {
    return fmt::format("{} copies, {} waits, {} products, {} tiles by {} warps, of {} blocks",
                       got.copies, got.waits, got.products, got.tiles, math, least);
  }
  // Under modelled time a copy lands long after who waits for it has come; a schedule may be slow.
  return !timed || blocks == 0 || got.waited ? "" : "no wait for a stage took any time";
}

}  // namespace

std::vector<TraceEvent> trace_room(const Config& c, int ctas) {
  const std::uint64_t bytes =
      c.trace ? shared::trace_bytes(c, static_cast<std::uint32_t>(ctas)) : 0;
  return std::vector<TraceEvent>(bytes / sizeof(TraceEvent));
}

std::string trace_fault(const Config& c, const KernelCase& k, bool timed,
                        const std::vector<TraceEvent>& record) {
  const std::uint32_t warps = static_cast<std::uint32_t>(shared::threads_per_cta(c)) / 32;
  Totals totals;
  for (std::uint32_t cta = 0; cta < static_cast<std::uint32_t>(k.sms); ++cta) {
    const Track first(&record[shared::trace_track(c, cta, 0)], shared::kTraceEvents);
    if (first[0].kind == TraceKind::kNone) continue;  // fewer tiles than SMs
    for (std::uint32_t warp = 0; warp < warps; ++warp) {
      Track events(&record[shared::trace_track(c, cta, warp)], shared::kTraceEvents);
      const auto end = std::find_if(events.begin(), events.end(),
                                    [](const TraceEvent& e) { return e.kind == TraceKind::kNone; });
      events = events.first(static_cast<std::size_t>(end - events.begin()));
      const bool copies = warp < kWarpgroupWarps;
      const bool silent = copies && warp > 0 && !shared::uses_loader(c);
      std::string fault = silent ? (events.empty() ? "" : "events") : track_fault(events);
      if (fault.empty() && copies) fault = stages_fault(c, events, TraceKind::kCopy);
      if (fault.empty() && !copies && c.split == shared::WarpgroupSplit::kRows)
        fault = stages_fault(c, events, TraceKind::kMultiply);
      if (!fault.empty()) return fmt::format("trace of CTA {} warp {}: {}", cta, warp, fault);
      add(totals, events);
    }
  }
  if (totals.full) return "";
  const std::string fault = totals_fault(c, k, timed, totals);
  return fault.empty() ? "" : "trace: " + fault;
}

}  // namespace wgrad::test
