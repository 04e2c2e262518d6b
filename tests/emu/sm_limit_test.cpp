// Under every limit of multiprocessors a launch is whole clusters, as many as find room, and right.
// Device code has its own OutputMode: before the public one.
#include "kernels/sm90/emulated_table.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <utility>

#include "emu/bit_cases.hpp"
#include "emu/kernel_plan.hpp"
#include "launch/emulated_launch.hpp"
#include "support/check.hpp"

namespace wgrad::test {
namespace {

using shared::Config;

constexpr Config kConfigs[] = {
    {.tile_n = 64, .stages = 3, .partial_columns = true},
    {.tile_n = 64, .stages = 3, .cluster_m = 2, .partial_columns = true},
    {.tile_n = 64, .stages = 3, .split_k = 2, .partial_columns = true},
    {.tile_n = 64, .stages = 3, .split_k = 3, .partial_columns = true},
    {.tile_n = 64, .stages = 4, .split_k = 4, .partial_columns = true},
    {.tile_n = 64, .stages = 7, .split_k = 6, .partial_columns = true},
};
constexpr int kSms = 13;  // of the device

const kernels::sm90::CompiledKernel& kernel(std::size_t index) {
  static const auto kAll =
      kernels::sm90::compiled<kConfigs>(std::make_index_sequence<std::size(kConfigs)>());
  return kAll[index];
}

KernelCase case_of(int limit) {
  KernelCase k;
  k.m = 320;
  k.n = 192;
  k.counts = {130, 0, 7};
  k.seed = static_cast<std::uint64_t>(limit);
  return k;
}

class SmLimits : public testing::TestWithParam<std::size_t> {};

TEST_P(SmLimits, WholeClustersComputeUnderEachOfThem) {
  const auto& [config, run] = kernel(GetParam());
  const int cluster = shared::cluster_ctas(config);
  for (int limit = 1; limit <= kSms; ++limit) {
    const KernelCase k = case_of(limit);
    const CaseData data(full_case(config, k));
    const Problem& p = data.source.problem;
    DeviceSpec device = emulated_sm90(kSms);
    device.sm_limit = limit;
    ASSERT_EQ(kernels::sm90::fits(config, p, device), limit >= cluster) << limit;
    if (limit < cluster) continue;
    plan::Plan plan = plan_of(config, p, kSms);
    const auto values = kernels::sm90::launch_values(config, p, device);
    EXPECT_EQ(values.grid % cluster, 0) << limit;
    EXPECT_LE(values.grid, limit);
    EXPECT_GT(values.grid, limit - cluster) << "there is more work than room";
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
