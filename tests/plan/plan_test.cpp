#include "plan/plan.hpp"

#include <gtest/gtest.h>

#include <typeinfo>

#include "plan/cpu_plan.hpp"

namespace wgrad::plan {
namespace {

TEST(AnyConfig, EqualsWhatHoldsTheSame) {
  CpuConfig config;
  config.tile_m = 64;
  const AnyConfig held = config;
  EXPECT_EQ(held, AnyConfig(config));
  EXPECT_EQ(held.as<CpuConfig>().tile_m, 64);
  config.tile_m = 128;
  EXPECT_NE(held, AnyConfig(config));
  EXPECT_NE(held, AnyConfig(64));
  EXPECT_NE(held, AnyConfig());
  EXPECT_EQ(AnyConfig(), AnyConfig());
}

TEST(AnyConfig, IsReadAsWhatItIsAlone) {
  EXPECT_THROW(AnyConfig(64).as<CpuConfig>(), std::bad_cast);
  EXPECT_THROW(AnyConfig().as<int>(), std::bad_cast);
}

TEST(Plan, WithoutRegionsTakesOneByte) {
  EXPECT_EQ(workspace_bytes(Plan{}), 1);
  EXPECT_EQ(region_offset(Plan{}, "trace"), -1);
}

TEST(Plan, RegionsFollowEachOtherOnWholeLines) {
  Plan plan;
  plan.workspace = {{"scratch", 100}, {"trace", 512}, {"last", 1}};
  EXPECT_EQ(region_offset(plan, "scratch"), 0);
  EXPECT_EQ(region_offset(plan, "trace"), 256);
  EXPECT_EQ(region_offset(plan, "last"), 768);
  EXPECT_EQ(workspace_bytes(plan), 1024);
}

}  // namespace
}  // namespace wgrad::plan
