#include "bench/token_counts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/refusal.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::bench {
namespace {

Shape shape_of(Distribution distribution) {
  return {"s", 24, 16, 16, 10007, distribution};
}

std::vector<std::int64_t> sorted(std::vector<std::int64_t> counts) {
  std::sort(counts.begin(), counts.end());
  return counts;
}

class EveryDistribution : public testing::TestWithParam<Distribution> {};

TEST_P(EveryDistribution, SharesOutEveryToken) {
  const auto counts = token_counts(shape_of(GetParam()), 3, 1);
  ASSERT_EQ(counts.size(), 24U);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 10007);
  EXPECT_GE(*std::min_element(counts.begin(), counts.end()), 0);
}

TEST_P(EveryDistribution, KeepsToTheMultiple) {
  const auto counts = token_counts(shape_of(GetParam()), 3, 2);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 10006);
  for (const std::int64_t count : counts) EXPECT_EQ(count % 2, 0);
}

TEST_P(EveryDistribution, FollowsTheSeed) {
  EXPECT_EQ(token_counts(shape_of(GetParam()), 3, 1), token_counts(shape_of(GetParam()), 3, 1));
}

INSTANTIATE_TEST_SUITE_P(All, EveryDistribution,
                         testing::Values(Distribution::kEven, Distribution::kJitter,
                                         Distribution::kZipf, Distribution::kHot),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST(TokenCounts, HaveTheirDistributionsShape) {
  const auto even = sorted(token_counts(shape_of(Distribution::kEven), 3, 1));
  EXPECT_LE(even.back() - even.front(), 1);
  const auto jitter = sorted(token_counts(shape_of(Distribution::kJitter), 3, 1));
  EXPECT_GT(jitter.back() - jitter.front(), 50);
  EXPECT_LT(static_cast<double>(jitter.back()) / static_cast<double>(jitter.front()), 1.9);
  const auto zipf = sorted(token_counts(shape_of(Distribution::kZipf), 3, 1));
  EXPECT_NEAR(static_cast<double>(zipf[23]) / static_cast<double>(zipf[22]), 2.0, 0.01);
  const auto hot = sorted(token_counts(shape_of(Distribution::kHot), 3, 1));
  EXPECT_NEAR(static_cast<double>(hot[23]) / static_cast<double>(hot[22]), 96.0, 2.0);
}

TEST(CumulativeEnds, SumAndStayInRange) {
  const std::vector<std::int64_t> counts = {3, 0, 4};
  EXPECT_EQ(cumulative_ends(counts), (std::vector<std::int32_t>{3, 3, 7}));
  const std::vector<std::int64_t> too_many = {2147483647, 1};
  EXPECT_EQ(test::refusal<ValueError>([&] { cumulative_ends(too_many); }),
            "wgrad: counts[1] is 1; it must be from 0 to 0: all experts have at most 2147483647 "
            "tokens");
  const std::vector<std::int64_t> wrapping = {10, INT64_MAX, INT64_MAX};
  EXPECT_EQ(test::refusal<ValueError>([&] { cumulative_ends(wrapping); }),
            "wgrad: counts[1] is 9223372036854775807; it must be from 0 to 2147483637: all experts "
            "have at most 2147483647 tokens");
  const std::vector<std::int64_t> negative = {8, -1};
  EXPECT_EQ(test::refusal<ValueError>([&] { cumulative_ends(negative); }),
            "wgrad: counts[1] is -1; it must be from 0 to 2147483639: all experts have at most "
            "2147483647 tokens");
}

}  // namespace
}  // namespace wgrad::bench
