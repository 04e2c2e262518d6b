#include "wgrad/sm90/smem.hpp"

#include <gtest/gtest.h>

#include "device/configs.hpp"

namespace wgrad::shared {
namespace {

TEST(Smem, FitsAndIsAlignedForEveryConfig) {
  for (const Config& c : all_configs()) {
    const SmemTable t = smem_table(c);
    EXPECT_LE(t.total, kMaxSharedBytes);
    EXPECT_GE(c.stages, 4) << "tile_n " << c.tile_n;
    for (u32 i = 0; i < t.count; ++i) {
      const SmemRegion& r = t.region[i];
      EXPECT_EQ(r.at % r.alignment, 0u) << r.name;
      EXPECT_EQ(r.count > 1 ? r.bytes % r.alignment : 0, 0u) << r.name;
      EXPECT_EQ(r.kind == RegionKind::kBarrier && r.count > 0, r.arrivals > 0 && r.count > 0)
          << r.name;
    }
  }
}

TEST(Smem, RegionsLieOneAfterTheOther) {
  for (const Config& c : all_configs()) {
    const SmemTable t = smem_table(c);
    u32 end = 0;
    for (u32 i = 0; i < t.count; ++i) {
      const SmemRegion& r = t.region[i];
      if (r.kind == RegionKind::kLoan) continue;
      EXPECT_GE(r.at, end) << r.name;
      end = r.at + r.bytes * r.count;
    }
    EXPECT_LE(end, t.total);
  }
}

TEST(Smem, WhatIsLentFitsInTheStages) {
  for (const Config& c : all_configs()) {
    const SmemTable t = smem_table(c);
    for (u32 i = 0; i < t.count; ++i) {
      const SmemRegion& r = t.region[i];
      if (r.kind != RegionKind::kLoan) continue;
      EXPECT_LE(r.at + r.bytes * r.count, t.of("output ring slot").at) << r.name;
    }
  }
}

TEST(Smem, BarriersCountWhoArrives) {
  const auto arrivals = [](const Config& c, const char* name) {
    return smem_table(c).of(name).arrivals;
  };
  const Config pair{.cluster_m = 2};
  EXPECT_EQ(arrivals(pair, "full"), 1u);
  EXPECT_EQ(arrivals(pair, "empty"), 16u) << "math warps of both CTAs";
  const Config mixed{.a = OperandLayout::kKMajorRagged, .split = WarpgroupSplit::kTiles};
  EXPECT_EQ(arrivals(mixed, "full"), 129u) << "copy engine and loader threads";
  EXPECT_EQ(arrivals(mixed, "empty"), 4u) << "math warps of one warpgroup";
  EXPECT_EQ(arrivals(mixed, "work empty"), 8u) << "loader warps and those of one warpgroup";
  EXPECT_EQ(arrivals(Config{.split_k = 4}, "parts full"), 3u) << "a warp of each other CTA";
  const SmemTable alone = smem_table(Config{});
  for (u32 i = 0; i < alone.count; ++i)
    EXPECT_FALSE(same_text(alone.region[i].name, "parts full")) << "no CTA shares tokens";
}

TEST(Config, MulticastHalvesAddUpToTheTile) {
  for (const Config& c : all_configs()) {
    const i32 share = uses_multicast(c) ? 2 : 1;
    EXPECT_EQ(b_box_rows(c) * b_box_tokens(c) * share, c.tile_n * kTileK);
    EXPECT_EQ(b_box_rows(c) % 8, 0);
  }
}

TEST(Config, PartialColumnsAreWhatTheCopyEngineCannotCut) {
  EXPECT_TRUE(needs_partial_columns(OutputType::kBf16, 1540));
  EXPECT_FALSE(needs_partial_columns(OutputType::kFp32, 1540));
  const Config c{.partial_columns = true};
  EXPECT_EQ(boxed_columns(c, 1540), 1536);
  EXPECT_EQ(boxed_columns(c, 7), 0);
  EXPECT_EQ(boxed_columns(Config{}, 1536), 1536);
}

}  // namespace
}  // namespace wgrad::shared
