// Traced kernels on the emulated GPU's modelled time, through the public interface.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "kernels/sm90/emulated/kernels.hpp"
#include "support/check.hpp"
#include "support/planned/emulated_device.hpp"
#include "support/refusal.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::test {
namespace {

Case plain_case() {
  Case c;
  c.problem.m = 256;
  c.problem.n = 512;
  c.counts = {200, 0, 65};
  return c;
}

struct Ran {
  Timeline timeline;
  Bytes output;
};

Ran run(const CaseData& data, const DeviceSpec& device = emulated_sm90(2)) {
  const Executable executable =
      prepare(problem(data.source), device, {.backend = "emu", .trace = true});
  Instance instance(data, host_device());
  std::vector<std::byte> record(static_cast<std::size_t>(executable.workspace_bytes()));
  instance.operands().workspace = record.data();
  instance.operands().workspace_bytes = executable.workspace_bytes();
  executable.run(instance.operands());
  return {executable.timeline(record), instance.output()};
}

std::map<std::pair<int, std::string>, std::vector<TraceSpan>> by_track(const Timeline& t) {
  std::map<std::pair<int, std::string>, std::vector<TraceSpan>> out;
  for (const TraceSpan& s : t.spans) {
    out[{s.cta, t.tracks[static_cast<std::size_t>(s.track)].name}].push_back(s);
  }
  return out;
}

std::size_t count(const std::vector<TraceSpan>& spans, std::string_view name) {
  return static_cast<std::size_t>(std::count_if(
      spans.begin(), spans.end(), [&](const TraceSpan& s) { return s.name == name; }));
}

void expect_in_order(const Timeline& timeline) {
  EXPECT_TRUE(timeline.complete);
  for (const auto& [track, spans] : by_track(timeline)) {
    std::vector<double> open;  // ends of the spans around the next one
    for (const TraceSpan& s : spans) {
      EXPECT_LE(s.begin_us, s.end_us);
      while (!open.empty() && open.back() <= s.begin_us + 1e-9) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(s.end_us, open.back() + 1e-9) << track.second << ": " << s.name;
      }
      open.push_back(s.end_us);
    }
  }
}

class EmuTimeline : public testing::TestWithParam<int> {
 protected:
  static Case variant(int number) {
    Case c = plain_case();
    if (number == 1) {
      c.problem.accumulate = true;
      c.problem.wgrad_dtype = DType::kF32;
    }
    if (number == 2) c.problem.a_major = c.problem.b_major = Major::kK;
    if (number == 3) {
      c.problem.a_major = c.problem.b_major = Major::kK;
      c.problem.input_order = InputOrder::kTensorRagged;
    }
    return c;
  }
};

TEST_P(EmuTimeline, TheResultIsRightAndTimeIsInOrder) {
  const CaseData data(variant(GetParam()));
  for (const DeviceSpec& device : {emulated_sm90(2), emulated_sm100(2)}) {
    const Ran r = run(data, device);
    EXPECT_TRUE(same_image(data, r.output, oracle_output(data))) << device.name;
    expect_in_order(r.timeline);
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, EmuTimeline, testing::Range(0, 4));

TEST(EmuTimeline, CountsWhatTheKernelDid) {
  Case c = plain_case();
  c.problem.tiling = {256, 128, 2, 1};  // pingpong; 1 x 4 tiles an expert, of 10 and 3 k blocks
  c.counts = {300, 0, 65};
  const Ran r = run(CaseData(c));
  const auto tracks = by_track(r.timeline);
  EXPECT_EQ(count(tracks.at({1, "math 0 warp 3"}), "tile"), 6U);
  EXPECT_EQ(count(tracks.at({1, "math 1 warp 3"}), "tile"), 6U);
  EXPECT_EQ(count(tracks.at({1, "math 1 warp 3"}), "multiply"), 2U * (10 + 3));
  EXPECT_EQ(count(tracks.at({0, "producer 0"}), "copy"), 4U * (10 + 3));
  const auto& wgmmas = tracks.at({0, "tensor cores"});  // two bands, two steps a k block
  EXPECT_EQ(count(wgmmas, "multiply"), 4U * (10 + 3) * 4);
  double busy = 0;
  for (const TraceSpan& s : wgmmas) busy += s.end_us - s.begin_us;
  EXPECT_NEAR(busy * 1830, 4.0 * (10 + 3) * 4 * 64, 200);  // 64 cycles each
}

// One pair, 2 tiles of 256x256 for each expert, of 10 and 2 k blocks.
TEST(EmuTimelineSm100, CountsWhatTheKernelDid) {
  Case c = plain_case();
  c.counts = {610, 0, 65};
  DeviceSpec b300 = emulated_sm100(2);
  b300.arch = 103;
  const Ran r = run(CaseData(c), b300);
  const auto tracks = by_track(r.timeline);
  constexpr std::size_t kBlocks = std::size_t{2} * (10 + 2);
  for (int cta = 0; cta < 2; ++cta) {
    EXPECT_EQ(count(tracks.at({cta, "epilogue warp 3"}), "tile"), 6U);
    EXPECT_EQ(count(tracks.at({cta, "epilogue warp 3"}), "write box"), 6U * 4);
    EXPECT_EQ(count(tracks.at({cta, "epilogue warp 0"}), "wait sum"), 4U);
    EXPECT_EQ(count(tracks.at({cta, "producer 0"}), "copy"), kBlocks);
    EXPECT_EQ(count(tracks.at({cta, "tensor cores"}), "multiply"), kBlocks * 4);
  }
  EXPECT_EQ(count(tracks.at({0, "multiplier"}), "multiply"), kBlocks);
  EXPECT_EQ(count(tracks.at({0, "multiplier"}), "wait accumulator"), 4U);
  EXPECT_EQ(tracks.count({1, "multiplier"}), 0U);  // the first CTA's multiplies for both
}

// The sums of a tile leave while the next one is multiplied.
TEST(EmuTimelineSm100, TheEpilogueRunsUnderTheMainLoop) {
  Case c = plain_case();
  c.counts = {900};
  const Ran r = run(CaseData(c), emulated_sm100(2));
  const auto tracks = by_track(r.timeline);
  const auto& boxes = tracks.at({0, "epilogue warp 0"});
  const auto& products = tracks.at({0, "tensor cores"});
  const auto first = std::find_if(boxes.begin(), boxes.end(),
                                  [](const TraceSpan& s) { return s.name == "write box"; });
  ASSERT_NE(first, boxes.end());
  EXPECT_LT(first->begin_us, products.back().end_us);
  double idle = 0;  // between products
  for (std::size_t i = 1; i < products.size(); ++i)
    idle += products[i].begin_us - products[i - 1].end_us;
  EXPECT_LT(idle, 0.1 * (products.back().end_us - products.front().begin_us));
}

// docs/emulator.md's commands, and the problems that the model of time was compared on.
TEST(EmuTimeline, ShowsThePlannersKernels) {
  Problem docs;
  docs.m = 768;
  docs.n = 512;
  docs.experts = 4;
  docs.tokens = 1456;
  Problem large = docs;
  large.m = large.n = 4096;
  const auto plan_of = [](Problem p, Major major, bool add) {
    p.a_major = p.b_major = major;
    p.accumulate = add;
    if (add) p.wgrad_dtype = DType::kF32;
    return prepare(p, emulated_sm90(2), {.backend = "emu", .trace = true}).plan();
  };
  for (const std::string& plan :
       {plan_of(docs, Major::kMn, false), plan_of(docs, Major::kK, false),
        plan_of(docs, Major::kMn, true), plan_of(large, Major::kMn, false),
        plan_of(large, Major::kMn, true), plan_of(large, Major::kK, false)}) {
    EXPECT_EQ(plan.find("in place of"), std::string::npos) << plan;
  }
  Problem other = docs;
  other.n = 64;
  EXPECT_NE(plan_of(other, Major::kK, false).find("in place of"), std::string::npos);
}

TEST(EmuTimeline, IsTheSameEveryTime) {
  const CaseData data(plain_case());
  const Timeline a = run(data).timeline, b = run(data).timeline;
  ASSERT_EQ(a.spans.size(), b.spans.size());
  for (std::size_t i = 0; i < a.spans.size(); ++i) {
    EXPECT_EQ(a.spans[i].name, b.spans[i].name);
    EXPECT_EQ(a.spans[i].begin_us, b.spans[i].begin_us);
  }
}

TEST(EmuTimeline, RefusesInWords) {
  const CaseData data(plain_case());
  const Problem p = problem(data.source);
  const Executable traced = prepare(p, emulated_sm90(2), {.backend = "emu", .trace = true});
  Instance instance(data, host_device());
  const std::string bytes = std::to_string(traced.workspace_bytes()) + " ";
  EXPECT_EQ(refusal<ValueError>([&] { traced.run(instance.operands()); }),
            "wgrad: workspace is null; it must be " + bytes + "zeroed bytes for a traced run");
  const std::vector<std::byte> few(100);
  EXPECT_EQ(refusal<ValueError>([&] { traced.timeline(few); }),
            "wgrad: workspace is 100 bytes; it must be at least " + bytes + "bytes");
  const Executable plain = prepare(p, emulated_sm90(2), {.backend = "emu"});
  const std::vector<std::byte> enough(static_cast<std::size_t>(traced.workspace_bytes()));
  EXPECT_EQ(refusal<ValueError>([&] { plain.timeline(enough); }),
            "wgrad: trace is false; it must be true: only a traced run has a timeline");
  EXPECT_EQ(
      refusal<RuntimeError>(
          [&] { prepare(p, host_spec(), {.backend = "reference", .trace = true}); }),
      "wgrad: backend is 'reference', which keeps no timeline; it must be 'cuda' or 'emu' for "
      "a traced run");
  Problem rare = p;
  rare.output_mode = OutputMode::kDiscrete;
  EXPECT_EQ(refusal<RuntimeError>(
                [&] { prepare(rare, emulated_sm90(2), {.backend = "emu", .trace = true}); }),
            "wgrad: problem is a combination of types, majors and modes; it must be one of the " +
                std::to_string(kernels::sm90::emulated_traced_kernels().size()) +
                " that the emulator's traced kernels were compiled for");
}

}  // namespace
}  // namespace wgrad::test
