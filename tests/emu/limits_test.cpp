// What the machine has room for, beside what the planner may ask of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "emu/cluster.hpp"
#include "support/planned/planned_configs.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::test {
namespace {

TEST(Machine, HoldsTheBarriersOfEveryPlannedKernel) {
  std::uint32_t most = 0;
  for (const shared::Config& c : planned_configs()) {
    std::uint32_t barriers = 0;
    for (const shared::SmemRegion& r : shared::smem_table(c).region) {
      if (r.kind == shared::RegionKind::kBarrier) barriers += r.count;
    }
    most = std::max(most, barriers);
  }
  EXPECT_GT(most, 64U);
  EXPECT_LE(most, emu::kMaxBarriers);
}

}  // namespace
}  // namespace wgrad::test
