// What the machine has room for, beside what the planner may ask of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "emu/cluster.hpp"
#include "support/planned_configs.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::test {
namespace {

TEST(Machine, HoldsTheBarriersOfEveryPlannedKernel) {
  std::uint32_t most = 0;
  for (const shared::Config& c : planned_configs()) {
    const shared::SmemLayout s = shared::smem_layout(c);
    const std::uint32_t before_work =
        s.turn + shared::kMathWarpgroups * shared::kBarrierBytes - s.full;
    most = std::max(most, (before_work + s.order - s.work_full) / shared::kBarrierBytes);
  }
  EXPECT_GT(most, 64U);
  EXPECT_LE(most, emu::kMaxBarriers);
}

}  // namespace
}  // namespace wgrad::test
