#include "wgrad/sm90/smem.hpp"

#include <gtest/gtest.h>

#include "device/configs.hpp"

namespace wgrad::shared {
namespace {

TEST(Smem, FitsAndIsAlignedForEveryConfig) {
  for (const Config& c : all_configs()) {
    const SmemLayout s = smem_layout(c);
    EXPECT_LE(s.total, kMaxSharedBytes);
    EXPECT_EQ(s.a % kBoxAlignment, 0u);
    EXPECT_EQ(s.b % kBoxAlignment, 0u);
    EXPECT_EQ(s.ring % kBoxAlignment, 0u);
    EXPECT_EQ(a_stage_bytes(c) % kBoxAlignment, 0u);
    EXPECT_EQ(b_stage_bytes(c) % kBoxAlignment, 0u);
    EXPECT_EQ(s.full % kBarrierBytes, 0u);
    EXPECT_EQ(s.work % 16, 0u);
    EXPECT_LE(static_cast<u32>(parts_bytes(c)), s.ring) << "parts lie in the stages";
    EXPECT_GE(c.stages, 4) << "tile_n " << c.tile_n;
  }
}

TEST(Smem, TheExpertSortFitsInTheStages) {
  for (const Config& c : all_configs()) {
    EXPECT_LE(static_cast<u32>(kMaxOrderedExperts) * 4, smem_layout(c).ring);
  }
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
