#include "kernels/trace_record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <tuple>

#include "wgrad/shared/trace.hpp"

namespace wgrad::kernels {
namespace {

using shared::TraceEvent;
using shared::TraceKind;

constexpr double kAssumedMhz = 1830;  // where a run is too short to measure the clock
constexpr double kLongEnoughNs = 20000;
constexpr double kNoWaitNs = 100;  // a wait that finds what it waits for, recorded

constexpr std::string_view kNames[] = {
    "",           "",          "tile",      "wait empty",      "copy",
    "wait turn",  "wait full", "mask",      "multiply",        "wait parts",
    "send parts", "wait ring", "write box", "finish",          "load",
    "multiply",   "store",     "wait sum",  "wait accumulator"};

/// Tracks of a CTA in the workspace.
std::size_t recorded_tracks(const TraceLayout& layout) {
  return layout.warps.size() + shared::kTraceEngines;
}

std::vector<TraceTrack> all_tracks(const TraceLayout& layout) {
  std::vector<TraceTrack> tracks = layout.warps;
  for (const char* name : {"copy engine in", "tensor cores", "copy engine out"})
    tracks.push_back({name, TraceRole::kEngine, 0});
  add_tracks(tracks, "stage", layout.stages, TraceRole::kStage, 0);
  return tracks;
}

/// One track's events, up to the first empty one.
std::vector<TraceEvent> events_of(std::span<const std::byte> workspace, std::size_t tracks, int cta,
                                  int track) {
  const std::size_t number =
      static_cast<std::size_t>(cta) * tracks + static_cast<std::size_t>(track);
  std::vector<TraceEvent> events(shared::kTraceEvents);
  std::memcpy(events.data(), workspace.data() + number * shared::kTraceEvents * sizeof(TraceEvent),
              events.size() * sizeof(TraceEvent));
  const auto end = std::find_if(events.begin(), events.end(),
                                [](const TraceEvent& e) { return e.kind == TraceKind::kNone; });
  events.erase(end, events.end());
  return events;
}

/// An SM's clock against the timer that all share.
struct Clock {
  std::uint32_t cycle = 0;
  double ns = 0;
  double cycles_per_ns = kAssumedMhz / 1000;

  double at(std::uint32_t other) const {
    return ns + static_cast<std::int32_t>(other - cycle) / cycles_per_ns;
  }
};

std::uint64_t timer_of(const TraceEvent& anchor) {
  return std::uint64_t{anchor.detail} << 32U | anchor.end;
}

/// The earliest time that the GPU's timer showed: 61 bits of nanoseconds, too many for a double.
std::uint64_t first_time(std::span<const std::byte> workspace, std::size_t tracks) {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t track = 0; track < tracks; ++track) {
    TraceEvent event{};
    std::memcpy(&event, workspace.data() + track * shared::kTraceEvents * sizeof event,
                sizeof event);
    if (event.kind == TraceKind::kAnchor) first = std::min(first, timer_of(event));
  }
  return first;
}

Clock clock_of(const std::vector<TraceEvent>& events, std::uint64_t base) {
  Clock clock;
  const auto is_anchor = [](const TraceEvent& e) { return e.kind == TraceKind::kAnchor; };
  const auto first = std::find_if(events.begin(), events.end(), is_anchor);
  if (first == events.end()) return clock;
  clock.cycle = first->begin;
  clock.ns = static_cast<double>(timer_of(*first) - base);
  const auto last = std::find_if(events.rbegin(), events.rend(), is_anchor);
  const auto elapsed = static_cast<double>(timer_of(*last) - timer_of(*first));
  if (elapsed >= kLongEnoughNs) clock.cycles_per_ns = (last->begin - first->begin) / elapsed;
  return clock;
}

/// A look at a stage that has no foreign tokens is no masking.
bool found_nothing(const TraceEvent& e, const Clock& clock) {
  return e.kind == TraceKind::kMask && (e.end - e.begin) / clock.cycles_per_ns < kNoWaitNs;
}

/// Groups of wgmmas overlap their neighbours from issue to wait: each is shown from where the one
/// before it ended.
void part_multiplications(std::vector<TraceSpan>& spans) {
  double last = -std::numeric_limits<double>::infinity();
  for (TraceSpan& span : spans) {
    if (span.name != kNames[static_cast<int>(TraceKind::kMultiply)]) continue;
    span.begin_us = std::min(std::max(span.begin_us, last), span.end_us);
    last = span.end_us;
  }
}

struct Window {
  double begin;
  double end;
};

/// Of the spans `name` of a CTA's stage that end within `window`: the one that ends first, and when
/// the last one does.
struct Found {
  const TraceSpan* first = nullptr;
  double end = 0;
};
Found ends_within(const std::vector<TraceSpan>& spans, std::string_view name, std::int64_t stage,
                  const Window& window) {
  Found found;
  for (const TraceSpan& s : spans) {
    if (s.name != name || s.detail != stage || s.end_us <= window.begin || s.end_us > window.end)
      continue;
    if (found.first == nullptr || s.end_us < found.first->end_us) found.first = &s;
    found.end = std::max(found.end, s.end_us);
  }
  return found;
}

/// A stage fills from its copy's issue until the first warp finds it full, and is in use until the
/// last wgmma on it is complete. A warp that did not have to wait came later than the bytes, nobody
/// knows how much.
std::vector<TraceSpan> stage_spans(const std::vector<TraceSpan>& spans, int cta, int stage,
                                   int track) {
  std::vector<double> copies;
  for (const TraceSpan& s : spans) {
    if (s.name == "copy" && s.detail == stage) copies.push_back(s.begin_us);
  }
  std::sort(copies.begin(), copies.end());
  std::vector<TraceSpan> out;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const double next =
        i + 1 < copies.size() ? copies[i + 1] : std::numeric_limits<double>::infinity();
    const Found full = ends_within(spans, "wait full", stage, {copies[i], next});
    const Found used = ends_within(spans, "multiply", stage, {copies[i], next});
    if (full.first == nullptr || used.first == nullptr) continue;  // the trace ended before
    const double found = full.first->end_us;
    const bool waited = found - full.first->begin_us > kNoWaitNs;
    out.push_back({cta, track, waited ? "filling" : "ahead", stage, copies[i], found});
    out.push_back({cta, track, "in use", stage, found, used.end});
  }
  return out;
}

void to_microseconds_since_the_first(std::vector<TraceSpan>& spans) {
  double first = std::numeric_limits<double>::infinity();
  for (const TraceSpan& s : spans) first = std::min(first, s.begin_us);
  for (TraceSpan& s : spans) {
    s.begin_us = (s.begin_us - first) / 1000;
    s.end_us = (s.end_us - first) / 1000;
  }
}

}  // namespace

void add_tracks(std::vector<TraceTrack>& tracks, std::string_view name, int count, TraceRole role,
                int group) {
  for (int i = 0; i < count; ++i) tracks.push_back({fmt::format("{} {}", name, i), role, group});
}

Timeline timeline_of(const plan::Plan& plan, std::span<const std::byte> whole,
                     const TraceLayout& layout) {
  const auto workspace =
      whole.subspan(static_cast<std::size_t>(plan::region_offset(plan, "trace")));
  const std::size_t tracks = recorded_tracks(layout);
  Timeline timeline;
  timeline.plan = plan.summary;
  timeline.tracks = all_tracks(layout);
  const int recorded = static_cast<int>(tracks);
  const std::uint64_t base = first_time(workspace, static_cast<std::size_t>(layout.ctas) * tracks);
  for (int cta = 0; cta < layout.ctas; ++cta) {
    std::vector<TraceSpan> of_cta;
    Clock clock;
    for (int track = 0; track < recorded; ++track) {
      const auto events = events_of(workspace, tracks, cta, track);
      timeline.complete = timeline.complete && events.size() < shared::kTraceEvents;
      const bool warp = timeline.tracks[static_cast<std::size_t>(track)].role != TraceRole::kEngine;
      if (warp && !events.empty()) clock = clock_of(events, base);
      std::vector<TraceSpan> spans;
      for (const TraceEvent& e : events) {
        if (e.kind == TraceKind::kAnchor || found_nothing(e, clock)) continue;
        spans.push_back({cta, track, kNames[static_cast<int>(e.kind)], e.detail, clock.at(e.begin),
                         clock.at(e.end)});
      }
      part_multiplications(spans);
      of_cta.insert(of_cta.end(), spans.begin(), spans.end());
    }
    timeline.cycles_per_us += clock.cycles_per_ns * 1000 / layout.ctas;
    const std::vector<TraceSpan> warps = of_cta;
    for (int s = 0; s < layout.stages; ++s) {
      const auto spans = stage_spans(warps, cta, s, recorded + s);
      of_cta.insert(of_cta.end(), spans.begin(), spans.end());
    }
    timeline.spans.insert(timeline.spans.end(), of_cta.begin(), of_cta.end());
  }
  to_microseconds_since_the_first(timeline.spans);
  std::stable_sort(timeline.spans.begin(), timeline.spans.end(), [](const auto& x, const auto& y) {
    return std::tuple(x.cta, x.track, x.begin_us, -x.end_us) <
           std::tuple(y.cta, y.track, y.begin_us, -y.end_us);
  });
  return timeline;
}

}  // namespace wgrad::kernels
