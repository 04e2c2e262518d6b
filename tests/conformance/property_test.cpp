// Random problems of the whole contract against the oracle. WGRAD_TEST_CASES=N runs more of them,
// WGRAD_TEST_SEED=S others; a failure prints the line that runs it alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "support/check.hpp"
#include "support/random_case.hpp"
#include "support/settings.hpp"
#include "validate/problem_rules.hpp"

namespace wgrad::test {
namespace {

class Property : public testing::TestWithParam<Target> {};

std::string replay(std::uint64_t seed) {
  return fmt::format(
      "replay: WGRAD_TEST_SEED={} WGRAD_TEST_CASES=1 {} --gtest_filter='{}'", seed,
      testing::internal::GetArgvs().front(),
      fmt::format("{}.{}", testing::UnitTest::GetInstance()->current_test_info()->test_suite_name(),
                  testing::UnitTest::GetInstance()->current_test_info()->name()));
}

TEST_P(Property, RandomProblemsConform) {
  const Settings s = settings();
  for (std::int64_t i = 0; i < s.cases; ++i) {
    const std::uint64_t seed = s.seed + static_cast<std::uint64_t>(i);
    ASSERT_TRUE(conforms(GetParam(), random_case(seed))) << replay(seed);
  }
}

TEST_P(Property, AnExpertsBitsDoNotDependOnTheOthers) {
  const Settings s = settings();
  for (std::int64_t i = 0; i < s.cases / 10 + 1; ++i) {
    const std::uint64_t seed = s.seed + static_cast<std::uint64_t>(i);
    Case c = random_case(seed, 3e5);
    c.data = DataKind::kNormal;
    if (!has_kernel(GetParam(), problem(c))) continue;
    const CaseData data(c);
    const Bytes all = run_twice(GetParam(), data);
    // The experts before and after `alone` lose their tokens, its own values stay.
    const std::size_t alone = seed % c.counts.size();
    Case single = c;
    for (std::size_t e = 0; e < c.counts.size(); ++e) {
      if (e != alone) single.counts[e] = 0;
    }
    if (c.counts[alone] % 2 != 0 && c.problem.a_dtype == DType::kE2m1) continue;
    single.adjust = [&](LogicalData& values) {
      const auto take = [alone](LogicalOperand& to, const LogicalOperand& from) {
        for (std::int64_t row = 0; row < to.rows; ++row) {
          for (std::int64_t t = 0; t < to.tokens(); ++t) {
            to.code(row, t) = from.code(row, from.begins[alone] + t);
          }
          for (std::int64_t col = 0; col < to.cols(); ++col) {
            to.scale_code(row, col) = from.scale_code(row, from.first_cols[alone] + col);
          }
        }
        to.global_scales = from.global_scales;
        to.row_scales = from.row_scales;
      };
      take(values.a, data.logical.a);
      take(values.b, data.logical.b);
    };
    const CaseData single_data(single);
    const Bytes one = run_twice(GetParam(), single_data);
    const DType dtype = c.problem.wgrad_dtype;
    for (std::int64_t row = 0; row < c.problem.m; ++row) {
      for (std::int64_t col = 0; col < c.problem.n; ++col) {
        const std::int64_t at = data.output.cell_offset(alone, row, col);
        ASSERT_EQ(read_code(one, at, dtype), read_code(all, at, dtype))
            << "expert " << alone << " row " << row << " column " << col << "\n"
            << describe(c) << "\n"
            << replay(seed);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, Property, testing::ValuesIn(targets()),
                         [](const auto& param) { return target_name(param.param); });

TEST(RandomCase, FollowsTheContractAndReachesItsCorners) {
  std::set<std::string> seen;
  std::size_t most_experts = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const Case c = random_case(seed);
    const auto broken = validate::broken_rules(problem(c));
    ASSERT_TRUE(broken.empty()) << to_string(broken[0]) << "\n" << describe(c);
    most_experts = std::max(most_experts, c.counts.size());
    seen.insert(fmt::format("format {}{}", name(c.problem.a_dtype), name(c.problem.b_dtype)));
    seen.insert(covered_tokens(c) == 0 ? "no tokens" : "tokens");
    seen.insert(c.slack > 0 ? "slack" : "no slack");
    seen.insert(c.problem.n % 8 != 0 ? "odd width" : "even width");
  }
  EXPECT_GT(most_experts, 250U);
  EXPECT_EQ(seen.size(), 7U /* pairs of dtypes: formats share them */ + 6U);
}

}  // namespace
}  // namespace wgrad::test
