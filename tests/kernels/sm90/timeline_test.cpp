#include "kernels/sm90/timeline.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/traced.hpp"
#include "wgrad/shared/trace.hpp"

namespace wgrad::kernels::sm90 {
namespace {

using shared::TraceEvent;
using shared::TraceKind;

constexpr shared::u32 kProducer = 0, kFirstMath = 4;

plan::Plan small_plan() {
  LaunchConfig config;
  config.kernel.stages = 2;
  config.grid = 2;
  plan::Plan plan;
  plan.config = config;
  plan.summary = "small";
  return traced({}, plan, {});
}

/// A workspace as a kernel would leave it: the clock starts just before it wraps, the timer shows
/// nanoseconds since 1970.
struct Record {
  static constexpr shared::u32 kTimer = 0x18b0a000;  // high half
  plan::Plan plan = small_plan();
  std::vector<std::byte> bytes =
      std::vector<std::byte>(static_cast<std::size_t>(plan::workspace_bytes(plan)));
  static constexpr shared::u32 kStart = 4294967000U;

  void track(shared::u32 cta, shared::u32 number, std::vector<TraceEvent> events) {
    const shared::Config& c = plan.config.as<LaunchConfig>().kernel;
    events.insert(events.begin(), {kStart, 7000, TraceKind::kAnchor, kTimer});
    for (TraceEvent& e : events) {
      if (e.kind == TraceKind::kAnchor) continue;
      e.begin += kStart;
      e.end += kStart;
    }
    std::memcpy(bytes.data() + shared::trace_track(c, cta, number) * sizeof(TraceEvent),
                events.data(), events.size() * sizeof(TraceEvent));
  }
  // 100 us at 2 GHz.
  static TraceEvent last_anchor() { return {kStart + 200000, 107000, TraceKind::kAnchor, kTimer}; }
};

std::vector<TraceSpan> named(const Timeline& t, std::string_view name) {
  std::vector<TraceSpan> found;
  for (const TraceSpan& s : t.spans) {
    if (s.name == name) found.push_back(s);
  }
  return found;
}

TEST(Sm90Timeline, ReadsTheClockAcrossItsWrap) {
  Record r;
  r.track(1, kFirstMath + 5, {{0, 2000, TraceKind::kWaitFull, 1}, Record::last_anchor()});
  const Timeline t = timeline(r.plan, r.bytes);
  ASSERT_EQ(t.spans.size(), 1U);
  EXPECT_EQ(t.spans[0].cta, 1);
  EXPECT_EQ(t.tracks[static_cast<std::size_t>(t.spans[0].track)].name, "math 1 warp 1");
  EXPECT_NEAR(t.spans[0].begin_us, 0.0, 1e-9);
  EXPECT_NEAR(t.spans[0].end_us, 1.0, 1e-6);
  EXPECT_NEAR(t.cycles_per_us, (1830 + 2000) / 2.0, 1e-6);  // CTA 0 recorded nothing
  EXPECT_TRUE(t.complete);
}

TEST(Sm90Timeline, MultiplicationsFollowEachOther) {
  Record r;
  r.track(0, kFirstMath,
          {{100, 900, TraceKind::kMultiply, 0},
           {600, 1700, TraceKind::kMultiply, 1},
           Record::last_anchor()});
  const auto spans = named(timeline(r.plan, r.bytes), "multiply");
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_DOUBLE_EQ(spans[1].begin_us, spans[0].end_us);
}

TEST(Sm90Timeline, StagesFillAndAreUsed) {
  Record r;
  r.track(0, kProducer,
          {{0, 20, TraceKind::kCopy, 0},
           {20, 40, TraceKind::kCopy, 1},
           {3000, 3020, TraceKind::kCopy, 0},
           {6000, 6020, TraceKind::kCopy, 0},
           Record::last_anchor()});
  r.track(0, kFirstMath,
          {{0, 1000, TraceKind::kWaitFull, 0},
           {1000, 2000, TraceKind::kMultiply, 0},
           {3020, 4000, TraceKind::kWaitFull, 0},
           {4000, 5000, TraceKind::kMultiply, 0},
           {8000, 8060, TraceKind::kWaitFull, 0},
           {8060, 9000, TraceKind::kMultiply, 0},
           Record::last_anchor()});
  r.track(0, kFirstMath + 4,
          {{0, 1200, TraceKind::kWaitFull, 0},
           {1200, 2600, TraceKind::kMultiply, 0},
           Record::last_anchor()});
  const Timeline t = timeline(r.plan, r.bytes);
  const auto filling = named(t, "filling"), ahead = named(t, "ahead"), used = named(t, "in use");
  ASSERT_EQ(filling.size(), 2U);  // nobody found stage 1 full
  ASSERT_EQ(ahead.size(), 1U);    // the third time nobody waited for stage 0
  ASSERT_EQ(used.size(), 3U);
  EXPECT_NEAR(ahead[0].begin_us, 3.0, 1e-6);
  EXPECT_NEAR(ahead[0].end_us, 4.03, 1e-6);
  EXPECT_EQ(t.tracks[static_cast<std::size_t>(filling[0].track)].name, "stage 0");
  EXPECT_NEAR(filling[0].end_us, 0.5, 1e-6);  // the first to find it full
  EXPECT_NEAR(used[0].end_us, 1.3, 1e-6);     // the last to finish with it
  EXPECT_NEAR(filling[1].begin_us, 1.5, 1e-6);
  EXPECT_NEAR(used[1].end_us, 2.5, 1e-6);
}

TEST(Sm90Timeline, SaysWhenATrackWasFull) {
  Record r;
  std::vector<TraceEvent> many(shared::kTraceEvents - 1, {0, 1, TraceKind::kWaitFull, 0});
  r.track(0, kFirstMath, many);
  EXPECT_FALSE(timeline(r.plan, r.bytes).complete);
}

TEST(Sm90Timeline, ATracedPlanNeedsItsWorkspace) {
  const plan::Plan plan = small_plan();
  EXPECT_TRUE(plan.config.as<LaunchConfig>().kernel.trace);
  EXPECT_EQ(plan::workspace_bytes(plan), 2 * 15 * 2048 * 16);
  EXPECT_NE(plan.summary.find("traced"), std::string::npos);
}

}  // namespace
}  // namespace wgrad::kernels::sm90
