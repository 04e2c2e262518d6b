// Under limits of multiprocessors that leave no cluster, one, two and part of one over, a launch is
// whole clusters, as many as find room, and right. (Sm90Plan.LaunchesWholeClustersUnderEverySmLimit
// goes through every limit of a plan.)
// Device code has its own OutputMode: before the public one.
#include "kernels/sm90/emulated/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "emu/bits/bit_cases.hpp"
#include "emu/fuzz/kernel_plan.hpp"
#include "launch/emulated_launch.hpp"
#include "support/check.hpp"

namespace wgrad::test {
namespace {

using shared::Config;

constexpr auto kMn = shared::OperandLayout::kMnMajor;

constexpr Config kConfigs[] = {
    {.tile_n = 64, .stages = 3, .a = kMn, .b = kMn, .partial_columns = true},
    {.tile_n = 64, .stages = 3, .cluster_m = 2, .a = kMn, .b = kMn, .partial_columns = true},
    {.tile_n = 64, .stages = 3, .split_k = 2, .a = kMn, .b = kMn, .partial_columns = true},
    {.tile_n = 64, .stages = 3, .split_k = 3, .a = kMn, .b = kMn, .partial_columns = true},
    {.tile_n = 64, .stages = 4, .split_k = 4, .a = kMn, .b = kMn, .partial_columns = true},
    {.tile_n = 64, .stages = 7, .split_k = 6, .a = kMn, .b = kMn, .partial_columns = true},
};
constexpr int kSms = 13;  // of the device

const kernels::sm90::CompiledKernel& kernel(std::size_t index) {
  static const auto kAll =
      kernels::sm90::compiled<kConfigs>(std::make_index_sequence<std::size(kConfigs)>());
  return kAll[index];
}

KernelCase case_of(int limit) {
  KernelCase k;
  k.m = 264;
  k.n = 72;
  k.counts = {70, 7};
  k.seed = static_cast<std::uint64_t>(limit);
  return k;
}

class SmLimits : public testing::TestWithParam<std::size_t> {};

TEST_P(SmLimits, WholeClustersCompute) {
  const auto& [config, run] = kernel(GetParam());
  const int cluster = shared::cluster_ctas(config);
  std::set<int> limits = {1, kSms};
  for (const int room : {cluster, 2 * cluster}) limits.insert({room - 1, room, room + 1});
  limits.erase(0);
  for (const int limit : limits) {
    const KernelCase k = case_of(limit);
    const CaseData data(full_case(config, k));
    const Problem& p = data.source.problem;
    DeviceSpec device = emulated_sm90(kSms);
    device.sm_limit = limit;
    ASSERT_EQ(kernels::sm90::fits(config, p, device), limit >= cluster) << limit;
    if (limit < cluster) continue;
    plan::Plan plan = plan_of(config, p, kSms);
    const auto values = kernels::sm90::launch_values(config, p, device);
    const int tiles = static_cast<int>(kernels::sm90::tile_count(config, p));
    EXPECT_EQ(values.grid, cluster * std::min(limit / cluster, tiles)) << limit;
    plan.config = values;
    Instance instance(data, host_device());
    shared::FaultRecord record{};
    const emu::Outcome outcome = launch::launch_emulated(run, p, plan, instance.operands(),
                                                         {.adversary = {.seed = k.seed}}, record);
    ASSERT_FALSE(outcome.fault) << limit << ": " << outcome.fault->text();
    EXPECT_TRUE(same_image(data, instance.output(), oracle_output(data))) << limit;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SmLimits, testing::Range(std::size_t{0}, std::size(kConfigs)));

}  // namespace
}  // namespace wgrad::test
