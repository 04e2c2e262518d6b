#include "kernels/sm90/planned.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "kernels/family.hpp"
#include "plan/hopper.hpp"
#include "validate/problem_rules.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::kernels::sm90 {
namespace {

Problem shape(int experts, int m, int n, int tokens) {
  Problem p;
  p.experts = experts;
  p.m = m;
  p.n = n;
  p.tokens = tokens;
  return p;
}

Problem mixtral() {
  return shape(8, 4096, 14336, 32768);
}

shared::Config best(const Problem& p, const DeviceSpec& device = hopper()) {
  return planned(p, device).at(0).config.kernel;
}

std::string refusal(const Problem& p, const DeviceSpec& device) {
  const auto reasons = kernels::limits(p, device);
  EXPECT_TRUE(planned(p, device).empty());
  return reasons.size() == 1 ? to_string(reasons[0]) : std::to_string(reasons.size()) + " reasons";
}

TEST(Sm90Plan, OffersEveryTileWidthClusterAndSplitOnce) {
  const auto found = planned(mixtral(), hopper());
  ASSERT_EQ(found.size(), 29U);
  for (const Planned& c : found) {
    EXPECT_TRUE(shared::is_valid(c.config.kernel));
    EXPECT_LE(c.config.smem_bytes, 232448);
    EXPECT_EQ(c.config.smem_bytes, static_cast<int>(shared::smem_table(c.config.kernel).total));
    EXPECT_GT(c.ms, 0);
    EXPECT_EQ(c.config.grid % shared::cluster_ctas(c.config.kernel), 0);
    EXPECT_LE(c.config.grid, 132);
  }
  const int split = found[0].config.kernel.split_k;
  EXPECT_TRUE(std::is_partitioned(found.begin(), found.end(), [&](const Planned& c) {
    return c.config.kernel.split_k == split;
  })) << "no other split before one with the bits of the choice";
}

TEST(Sm90Plan, F046_EveryTileFitsTheArchThatRuns) {
  const std::int64_t widths[] = {512, 768, 1536, 2048, 7168};
  for (const std::int64_t m : widths) {
    for (const std::int64_t n : widths) {
      Problem p = mixtral();
      p.m = m;
      p.n = n;
      const auto found = planned(p, hopper());
      ASSERT_FALSE(found.empty()) << m << " x " << n;
      for (const Planned& c : found) {
        EXPECT_LE(c.config.smem_bytes, 227 * 1024) << m << " x " << n;
        EXPECT_EQ(c.config.smem_bytes, static_cast<int>(shared::smem_table(c.config.kernel).total));
      }
      DeviceSpec blackwell = hopper();
      blackwell.arch = 100;
      for (const plan::Plan& plan : plans("cuda", p, blackwell))
        EXPECT_EQ(plan.family->name, "sm100") << "another arch has other tiles";
    }
  }
}

TEST(Sm90Plan, ShortExpertsHideTheirEpiloguesByPingpong) {
  Problem p = mixtral();
  p.experts = 128;
  p.m = 2048;
  p.n = 768;
  EXPECT_EQ(best(p).split, shared::WarpgroupSplit::kTiles);
}

TEST(Sm90Plan, WidthsThatTheLargestTileWouldWasteTakeANarrowerOne) {
  Problem p = mixtral();
  p.experts = 128;
  p.m = 2880;
  p.n = 2880;  // 15 x 192, 11.25 x 256
  p.tokens = 65536;
  EXPECT_EQ(best(p).tile_n, 192);
}

TEST(Sm90Plan, PredictsAboutWhatTheChipAttains) {
  const double ms = planned(mixtral(), hopper()).at(0).ms;
  const double teraflops = 2.0 * 32768 * 4096 * 14336 / ms / 1e9;
  EXPECT_GT(teraflops, 500);
  EXPECT_LT(teraflops, 900);
}

TEST(Sm90Plan, SaysWhatBoundsTheTime) {
  Problem p = mixtral();
  EXPECT_EQ(planned(p, hopper())[0].bound, "tensor cores");
  p.tokens = 0;  // nothing but writing zeros
  EXPECT_EQ(planned(p, hopper())[0].bound, "memory");
  p.experts = 1;
  p.m = 128;
  p.n = 256;
  p.tokens = 64;
  p.wgrad_dtype = DType::kF32;
  EXPECT_EQ(planned(p, hopper())[0].bound, "epilogue");
  p = mixtral();
  p.a_major = p.b_major = Major::kK;
  p.input_order = InputOrder::kTensorRagged;
  EXPECT_EQ(planned(p, hopper())[0].bound, "operand feed");
}

// Warm-up steps, dry runs and empty ranks are first calls too.
TEST(Sm90Plan, F145_NoCallsTokensMoveThePlan) {
  std::mt19937 rng(5);
  const auto below = [&](int limit) {
    return static_cast<int>(rng() % static_cast<unsigned>(limit));
  };
  for (int i = 0; i < 300; ++i) {
    Problem p = shape(1 + below(300), 8 * (1 + below(900)), 8 * (1 + below(900)), 1 << 16);
    p.accumulate = below(2) != 0;
    p.wgrad_dtype = below(2) != 0 ? DType::kF32 : DType::kBf16;
    const shared::Config made = best(p);
    for (const std::int64_t tokens : {std::int64_t{0}, p.experts, std::int64_t{1} << 22}) {
      p.tokens = tokens;
      ASSERT_EQ(best(p), made) << p.experts << " x " << p.m << " x " << p.n;
    }
  }
}

TEST(Sm90Plan, MoreTokensNeverPredictLessTime) {
  Problem p = mixtral();
  double before = 0;
  for (p.tokens = 1;  // a plan without tokens is made for others than it predicts
       p.tokens < 100000; p.tokens += 1234) {
    const double ms = planned(p, hopper())[0].ms;
    EXPECT_GE(ms, before);
    before = ms;
  }
}

TEST(Sm90Plan, LayoutFollowsMajorOrderAndWidth) {
  using Layout = shared::OperandLayout;
  Problem p = mixtral();
  EXPECT_EQ(best(p).a, Layout::kMnMajorBlocked);
  p.m = 4104;
  EXPECT_EQ(best(p).a, Layout::kMnMajor);
  p.a_major = Major::kK;
  EXPECT_EQ(best(p).a, Layout::kKMajor);
  p.input_order = InputOrder::kTensorRagged;
  EXPECT_EQ(best(p).a, Layout::kKMajorRagged);
  EXPECT_EQ(best(p).b, Layout::kMnMajorBlocked) << "ragged and tensor2d are the same memory";
}

TEST(Sm90Plan, ColumnsThatFillNoSixteenBytesAreStoredApart) {
  Problem p = mixtral();
  EXPECT_FALSE(best(p).partial_columns);
  p.n = 14332;
  p.wgrad_row_pitch = 14336;
  EXPECT_TRUE(best(p).partial_columns);
  p.wgrad_dtype = DType::kF32;
  EXPECT_FALSE(best(p).partial_columns);
}

TEST(Sm90Plan, ChoosesNothingThatSpills) {
  Problem p = mixtral();
  p.b_major = Major::kK;
  for (const auto& c : planned(p, hopper())) {
    EXPECT_FALSE(c.config.kernel.tile_n == 192 &&
                 c.config.kernel.split == shared::WarpgroupSplit::kTiles);
  }
}

TEST(Sm90Plan, OutputFollowsTheProblem) {
  Problem p = mixtral();
  p.a_dtype = p.b_dtype = DType::kF16;
  p.wgrad_dtype = DType::kF32;
  p.accumulate = true;
  p.output_mode = OutputMode::kDiscrete;
  const shared::Config c = best(p);
  EXPECT_EQ(c.input, shared::InputType::kFp16);
  EXPECT_EQ(c.output, shared::OutputType::kFp32);
  EXPECT_EQ(c.output_mode, shared::OutputMode::kDiscrete);
  EXPECT_TRUE(c.accumulate);
}

TEST(Sm90Plan, HonoursTheTiler) {
  const auto only = [](Tiling tiling) {
    Problem p = mixtral();
    p.tiling = tiling;
    EXPECT_TRUE(validate::broken_rules(p).empty());
    const auto found = planned(p, hopper());
    const bool pair = tiling.tile_m == 256 || tiling.cluster_m == 2;
    EXPECT_EQ(found.size(), (tiling.tile_n == 256 ? 1U : 2U) + (pair ? 0U : 4U))
        << "pingpong or not; tokens split in 2, 3, 4 or 6, which no pair does";
    for (const auto& c : found) {
      EXPECT_EQ(c.config.kernel.tile_n, found[0].config.kernel.tile_n);
      EXPECT_EQ(c.config.kernel.cluster_m, found[0].config.kernel.cluster_m);
    }
    return std::pair(best(p).tile_n, best(p).cluster_m);
  };
  EXPECT_EQ(only({128, 192, 0, 0}), std::pair(192, 1));
  EXPECT_EQ(only({128, 256, 0, 0}), std::pair(256, 1));
  EXPECT_EQ(only({128, 64, 2, 1}), std::pair(64, 2));
  EXPECT_EQ(only({256, 128, 0, 0}), std::pair(128, 2)) << "M 256 is a pair of CTAs";
  EXPECT_EQ(only({256, 64, 2, 1}), std::pair(64, 2));
  Problem p = mixtral();
  p.tiling = {256, 256, 2, 1};
  const auto found = planned(p, hopper());
  EXPECT_EQ(found.size(), 7U) << "the default tiler leaves the width to wgrad";
  for (const auto& c : found) EXPECT_EQ(c.config.kernel.cluster_m, 2);
}

TEST(Sm90Plan, RefusesClustersWithoutAKernel) {
  Problem p = mixtral();
  p.tiling = {128, 128, 2, 2};
  EXPECT_EQ(refusal(p, hopper()),
            "cluster_shape_mn is (2, 2) with mma_tiler_mn (128, 128); it must be (1, 1), or (2, 1) "
            "with two SMs or more, on SM 9.0; a launch may use 132");
  p.tiling = {256, 128, 0, 0};
  DeviceSpec device = hopper();
  device.sm_limit = 1;
  EXPECT_EQ(
      refusal(p, device),
      "cluster_shape_mn is not given with mma_tiler_mn (256, 128); it must be (2, 1) with two "
      "SMs or more, on SM 9.0; a launch may use 1");
}

TEST(Sm90Plan, RefusesOtherDevices) {
  DeviceSpec device = hopper();
  device.arch = 80;
  EXPECT_NE(refusal(mixtral(), device).find("SM 8.0 has no kernel yet"), std::string::npos);
  device.arch = 120;
  EXPECT_NE(refusal(mixtral(), device).find("12.0"), std::string::npos);
  for (const Reason& reason : kernels::limits(mixtral(), device)) {
    EXPECT_EQ(reason.kind, ReasonKind::kMissingCapability);
  }
}

TEST(Sm90Plan, F065_ADeviceWithTooLittleSharedMemoryIsToldWhatIsNeeded) {
  DeviceSpec device = hopper();
  device.smem_bytes = 101376;
  const std::string text = refusal(mixtral(), device);
  EXPECT_EQ(text.find("shared memory of a CTA is 101376 bytes on an H200; it must be at least "),
            0U)
      << text;
  EXPECT_NE(text.find(" bytes for the SM 9.0 kernel"), std::string::npos) << text;
}

TEST(Sm90Plan, ObeysTheSmLimit) {
  DeviceSpec device = hopper();
  for (const auto& c : planned(mixtral(), device)) EXPECT_TRUE(c.config.overlaps);
  device.sm_limit = 20;
  for (const auto& c : planned(mixtral(), device)) {
    EXPECT_LE(c.config.grid, 20);
    EXPECT_GE(c.config.grid, 15) << "whole clusters";
    EXPECT_FALSE(c.config.overlaps) << "the next launch would take what this one leaves free";
  }
  device.sm_limit = 1;
  for (const auto& c : planned(mixtral(), device)) {
    EXPECT_EQ(c.config.grid, 1);
    EXPECT_EQ(c.config.kernel.cluster_m, 1);
  }
  device.sm_limit = 500;
  EXPECT_EQ(planned(mixtral(), device)[0].config.grid, 132);
  EXPECT_TRUE(planned(mixtral(), device)[0].config.overlaps);
}

/// A part of a cluster cannot be launched; of a limit that no cluster divides some stay free.
TEST(Sm90Plan, LaunchesWholeClustersUnderEverySmLimit) {
  Problem few = mixtral();
  few.m = few.n = 256;  // tiles so few that clusters share tokens
  for (const Problem& p : {mixtral(), few}) {
    for (int limit = 1; limit <= 133; ++limit) {
      DeviceSpec device = hopper();
      device.sm_limit = limit;
      for (const auto& c : planned(p, device)) {
        const int ctas = static_cast<int>(shared::cluster_ctas(c.config.kernel));
        ASSERT_GT(c.config.grid, 0) << limit;
        ASSERT_LE(c.config.grid, limit) << "clusters of " << ctas;
        ASSERT_EQ(c.config.grid % ctas, 0) << limit << " multiprocessors, clusters of " << ctas;
      }
    }
  }
}

TEST(Sm90Plan, NeverLaunchesMoreThanThereAreTiles) {
  Problem p = mixtral();
  p.experts = 1;
  p.m = p.n = 8;
  for (const auto& c : planned(p, hopper())) {
    EXPECT_EQ(c.config.grid, shared::cluster_ctas(c.config.kernel));
  }
}

// Bits follow the split: what may differ from call to call must not change it.
TEST(Sm90Plan, TheSplitFollowsTheOutputsAlone) {
  std::mt19937 rng(11);
  const auto below = [&](int limit) {
    return static_cast<int>(rng() % static_cast<unsigned>(limit));
  };
  int splits = 0;
  for (int i = 0; i < 1000; ++i) {
    Problem p = shape(1 + below(16), 8 * (1 + below(200)), 8 * (1 + below(200)), 0);
    const int split = best(p).split_k;
    splits += split > 1;
    p.tokens = below(3) == 0 ? below(3) : below(1 << 20);
    p.a_major = static_cast<Major>(below(2));
    p.b_major = static_cast<Major>(below(2));
    p.accumulate = below(2) != 0;
    p.wgrad_dtype = below(2) != 0 ? DType::kF32 : DType::kBf16;
    p.output_mode = static_cast<OutputMode>(below(2));
    DeviceSpec device = hopper();
    device.sm_limit = below(2) != 0 ? 6 + below(140) : 0;
    ASSERT_EQ(best(p, device).split_k, split)
        << p.experts << " x " << p.m << " x " << p.n << ", " << p.tokens << " tokens";
    device.sm_limit = 2 + below(2);
    ASSERT_EQ(best(p, device).split_k, std::min(split, device.sm_limit)) << "as many as find room";
    device.sm_limit = 1;
    ASSERT_EQ(best(p, device).split_k, 1);
  }
  EXPECT_GT(splits, 50);
}

TEST(Sm90Plan, AClusterOfTheCallersHasNoSplit) {
  Problem p = mixtral();
  p.experts = 1;
  p.m = p.n = 512;
  EXPECT_GT(best(p).split_k, 1);
  p.tiling = {128, 128, 1, 1};
  EXPECT_EQ(best(p).split_k, 1);
}

TEST(Sm90Plan, RefusesSizesBeyondTheTensorMaps) {
  Problem p = mixtral();
  p.tokens = kMaxTokens + 1;
  EXPECT_EQ(
      refusal(p, hopper()),
      "tokens is 1073741825; it must be at most 1073741824 for an MN-major operand on SM 9.0");
  p.a_major = p.b_major = Major::kK;
  EXPECT_FALSE(planned(p, hopper()).empty());
  p.tokens = kMaxExtent + 1;
  EXPECT_EQ(refusal(p, hopper()), "tokens is 2147483137; it must be at most 2147483136 on SM 9.0");
  p = mixtral();
  p.experts = p.m = kMaxExtent;
  EXPECT_EQ(refusal(p, hopper()),
            "num_experts is 2147483136 with 2147483136 x 14336 outputs; it must be such that there "
            "are at most " +
                std::to_string(kMaxTiles) + " output tiles on SM 9.0");
  p = mixtral();
  p.experts = p.n = 8;
  p.m = kMaxExtent + 1;
  EXPECT_EQ(refusal(p, hopper()), "m is 2147483137; it must be at most 2147483136 on SM 9.0");
  std::swap(p.m, p.n);
  EXPECT_EQ(refusal(p, hopper()), "n is 2147483137; it must be at most 2147483136 on SM 9.0");
  p = mixtral();
  p.m = p.experts = 1;
  p.wgrad_row_pitch = kMaxPitchBytes / 2 + 8;
  EXPECT_EQ(refusal(p, hopper()),
            "wgrad row pitch is 1099511627776 bytes; it must be at most 1099511627760 bytes on SM "
            "9.0");
}

TEST(Sm90Plan, CountsTilesPastThirtyTwoBits) {
  Problem p = mixtral();
  p.experts = 4096;
  p.m = p.n = 65536;
  EXPECT_EQ(tile_count(shared::Config{}, p), std::int64_t{4096} * 512 * 256);
  p.experts = p.m = p.n = 2147483647;
  EXPECT_EQ(tile_count(shared::Config{}, p), kMaxTiles + 1);
}

Problem random_problem(std::mt19937& rng) {
  const auto pick = [&](auto... values) {
    const std::int64_t all[] = {static_cast<std::int64_t>(values)...};
    return all[rng() % std::size(all)];
  };
  Problem p;
  p.experts = pick(1, 3, 128, 4096, 2147483647);
  p.m = pick(1, 8, 640, 2880, 7168, 2147483647);
  p.n = pick(8, 384, 2048, 14336, 2147483640);
  p.tokens = pick(0, 1, 37, 65536, 2147483647);
  p.a_dtype = p.b_dtype = pick(0, 1) != 0 ? DType::kF16 : DType::kBf16;
  if (pick(0, 0, 0, 1) != 0) {
    p.a_dtype = p.b_dtype = DType::kE5m2;
    p.scales = ScaleSpec{};
  }
  p.a_major = static_cast<Major>(pick(0, 1));
  p.b_major = static_cast<Major>(pick(0, 1));
  p.input_order = static_cast<InputOrder>(pick(0, 1));
  p.wgrad_dtype = static_cast<DType>(pick(DType::kBf16, DType::kF16, DType::kF32));
  p.output_mode = static_cast<OutputMode>(pick(0, 1));
  p.accumulate = pick(0, 1) != 0;
  p.tiling = {static_cast<int>(pick(128, 256, 256)), static_cast<int>(pick(64, 128, 192, 256, 256)),
              static_cast<int>(pick(0, 1, 2, 4)), 0};
  if (p.tiling.cluster_m != 0) p.tiling.cluster_n = static_cast<int>(pick(1, 1, 2));
  return p;
}

DeviceSpec random_device(std::mt19937& rng) {
  DeviceSpec device = hopper();
  if (rng() % 8 == 0) device.kind = DeviceKind::kCpu;
  if (rng() % 8 == 0) device.arch = 100;
  device.sm_count = static_cast<int>(rng() % 5 == 0 ? rng() % 4 : 132);
  device.sm_limit = static_cast<int>(rng() % 3 == 0 ? rng() % 150 : 0);
  if (rng() % 4 == 0) device.smem_bytes = 90000 + static_cast<std::int64_t>(rng() % 150000);
  return device;
}

TEST(Sm90Plan, HasCandidatesExactlyWhereItHasNoLimits) {
  std::mt19937 rng(7);
  int yes = 0;
  for (int i = 0; i < 20000; ++i) {
    const Problem p = random_problem(rng);
    const DeviceSpec device = random_device(rng);
    if (!validate::broken_rules(p).empty()) continue;
    const bool some = !plans("cuda", p, device).empty();
    ASSERT_EQ(some, kernels::limits(p, device).empty()) << i;
    yes += some;
  }
  EXPECT_GT(yes, 500);
}

TEST(Sm90Plan, PrintsItsChoice) {
  EXPECT_EQ(
      summary(planned(mixtral(), hopper())[0].config),
      "sm90 128x256x32 cooperative, 8 stages, cluster 1x1, ring 2, raster 16, grid 132, 226 KiB");
}

// docs/notes/2026-12-01-long-tiles-fall-out-of-step.md: 128x192 pingpong took 1.33 times as long.
TEST(Sm90Plan, FewExpertsOfManyOutputsTakeTheWidestTile) {
  Problem p;
  p.experts = 16;
  p.m = 4096;
  p.n = 8192;
  p.workspace = true;
  EXPECT_EQ(planned(p, hopper())[0].config.kernel.tile_n, 256);
}

}  // namespace
}  // namespace wgrad::kernels::sm90
