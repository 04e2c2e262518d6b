// Launches through the driver's path on a CPU (support/driver/emulated_driver.hpp), and calls of
// one operator that differ in one field.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>

#include "harness/cases/instance.hpp"
#include "kernels/search.hpp"
#include "support/check.hpp"
#include "support/driver/emulated_driver.hpp"
#include "support/planned/emulated_device.hpp"

namespace wgrad::launch {
namespace {

using test::Case;
using test::CaseData;
using test::EmulatedDriver;
using test::Instance;

Case case_of(Major a, Major b, std::int64_t m = 136, std::int64_t n = 72) {
  Case c;
  c.problem.m = m;
  c.problem.n = n;
  c.problem.a_major = a;
  c.problem.b_major = b;
  c.counts = {130, 0, 65, 7};
  c.slack = 14;
  return c;
}

testing::AssertionResult right_through(EmulatedDriver& driver, const Case& c) {
  const CaseData data(c);
  Instance instance(data, test::host_device());
  driver.launch(instance.operands());
  return test::same_image(data, instance.output(), test::oracle_output(data));
}

using Kind = std::tuple<Major, Major, InputOrder, OutputMode, DType, bool>;
class DriverPath : public testing::TestWithParam<Kind> {};

/// Pitches, strides and extents of A, B and the output all differ.
TEST_P(DriverPath, EqualsTheOracle) {
  const auto& [a, b, order, mode, dtype, accumulate] = GetParam();
  Case c = case_of(a, b);
  c.problem.input_order = order;
  c.problem.output_mode = mode;
  c.problem.wgrad_dtype = dtype;
  c.problem.accumulate = accumulate;
  c.a_pad = 1;
  c.b_pad = 2;
  if (mode == OutputMode::kDense) {
    c.problem.wgrad_row_pitch = 96;
    c.problem.wgrad_expert_stride = 96 * 140;
  }
  const auto refused = kernels::limits(problem(c), test::emulated_sm90());
  if (!refused.empty()) {
    EXPECT_EQ(refused.front().rule, "emu-kernel") << "no kernel was compiled for this kind";
    return;
  }
  EmulatedDriver driver(problem(c));
  EXPECT_TRUE(right_through(driver, c));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, DriverPath,
    testing::Combine(testing::Values(Major::kK, Major::kMn), testing::Values(Major::kK, Major::kMn),
                     testing::Values(InputOrder::kTensor2d, InputOrder::kTensorRagged),
                     testing::Values(OutputMode::kDense, OutputMode::kDiscrete),
                     testing::Values(DType::kBf16, DType::kF32), testing::Bool()));

/// Every kernel that the emulated GPU has for a problem: clusters of two, tokens shared by two, one
/// CTA with its warpgroups side by side and in turns.
TEST(DriverPlans, EveryKernelOfAProblemIsLaunchedAsPlanned) {
  Case c = case_of(Major::kMn, Major::kMn, 300, 136);
  std::set<unsigned> clusters;
  for (const DType dtype : {DType::kBf16, DType::kF16}) {
    c.problem.a_dtype = c.problem.b_dtype = c.problem.wgrad_dtype = dtype;
    const auto plans = kernels::plans("emu", problem(c), test::emulated_sm90());
    for (std::size_t i = 0; i < plans.size(); ++i) {
      EmulatedDriver driver(problem(c), i);
      EXPECT_TRUE(right_through(driver, c)) << plans[i].summary;
      const auto& launch = driver.fake().launches.at(0);
      EXPECT_EQ(launch.config.grid[0] % launch.cluster, 0U);
      clusters.insert(launch.cluster);
    }
  }
  EXPECT_EQ(clusters, (std::set<unsigned>{1, 2}));
}

/// Room for A and B of a case, aligned as malloc() aligns.
struct Place {
  explicit Place(const CaseData& largest) : a(largest.a.bytes.size()), b(largest.b.bytes.size()) {}

  test::Bytes a, b;
};

/// Runs `data` with its A and B in `place`, which has room for them.
testing::AssertionResult right_in_place(EmulatedDriver& driver, const CaseData& data,
                                        Place& place) {
  Instance instance(data, test::host_device());
  Operands o = instance.operands();
  std::copy(data.a.bytes.begin(), data.a.bytes.end(), place.a.begin());
  std::copy(data.b.bytes.begin(), data.b.bytes.end(), place.b.begin());
  o.a = place.a.data();
  o.b = place.b.data();
  driver.launch(o);
  return test::same_image(data, instance.output(), test::oracle_output(data));
}

/// Calls of one operator that differ in one field, in buffers that stay where they are: what a memo
/// forgot would make the second one wrong.
TEST(DriverMemo, NewTokensInTheSameBuffers) {
  for (const Major a : {Major::kK, Major::kMn}) {
    for (const Major b : {Major::kK, Major::kMn}) {
      Case few = case_of(a, b);
      few.counts = {60, 20, 8, 0};
      const CaseData more(case_of(a, b)), fewer(few);
      Place place(more);
      EmulatedDriver driver(problem(more.source));
      for (const CaseData* data : {&fewer, &more, &fewer})
        EXPECT_TRUE(right_in_place(driver, *data, place)) << test::describe(data->source);
    }
  }
}

TEST(DriverMemo, NewLeadingDimensionsInTheSameBuffers) {
  for (const Major major : {Major::kK, Major::kMn}) {
    for (const auto pad : {&Case::a_pad, &Case::b_pad}) {
      Case wide = case_of(major, major);
      const CaseData narrow(wide);
      wide.*pad = 4;
      const CaseData other(wide);
      Place place(other);
      EmulatedDriver driver(problem(wide));
      for (const CaseData* data : {&narrow, &other, &narrow})
        EXPECT_TRUE(right_in_place(driver, *data, place)) << test::describe(data->source);
    }
  }
}

TEST(DriverMemo, NewAddresses) {
  const CaseData data(case_of(Major::kK, Major::kMn));
  EmulatedDriver driver(problem(data.source));
  Place first(data), second(data);
  EXPECT_TRUE(right_in_place(driver, data, first));
  std::fill(first.a.begin(), first.a.end(), std::uint8_t{0});
  std::fill(first.b.begin(), first.b.end(), std::uint8_t{0});
  EXPECT_TRUE(right_in_place(driver, data, second));
}

}  // namespace
}  // namespace wgrad::launch
