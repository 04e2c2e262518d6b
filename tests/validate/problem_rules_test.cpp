#include "validate/problem_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace wgrad {
namespace {

Problem plain() {
  Problem p;
  p.experts = 4;
  p.m = 64;
  p.n = 48;
  p.tokens = 100;
  return p;
}

bool breaks(const Problem& p, std::string_view rule) {
  const auto reasons = validate::broken_rules(p);
  return std::any_of(reasons.begin(), reasons.end(),
                     [&](const Reason& r) { return r.rule == rule; });
}

TEST(ProblemRules, AcceptsAPlainProblem) {
  EXPECT_TRUE(validate::broken_rules(plain()).empty());
}

TEST(ProblemRules, NamesTheExtentThatIsOutOfRange) {
  Problem p = plain();
  p.experts = 0;
  const auto reasons = validate::broken_rules(p);
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(to_string(reasons[0]), "num_experts is 0; it must be from 1 to 2147483647");
}

TEST(ProblemRules, RefusesOutputRowsOffTheAlignment) {
  Problem p = plain();
  p.n = 43;
  const auto reasons = validate::broken_rules(p);
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(to_string(reasons[0]),
            "wgrad row pitch is 43 elements (86 bytes) for N = 43; it must be at least N and a "
            "multiple of 16 bytes");
  p.wgrad_row_pitch = 48;
  EXPECT_TRUE(validate::broken_rules(p).empty());
}

TEST(ProblemRules, RefusesAnAccumulatorOtherThanFloat32) {
  Problem p = plain();
  p.acc_dtype = DType::kBf16;
  EXPECT_TRUE(breaks(p, "acc-dtype"));
}

TEST(ProblemRules, RefusesTilingsOutsideTheContract) {
  Problem p = plain();
  p.tiling = {128, 96, 0, 0};
  EXPECT_TRUE(breaks(p, "tiling"));
  p.tiling = {256, 128, 1, 1};
  EXPECT_TRUE(breaks(p, "cluster"));
  p.tiling = {128, 128, 3, 1};
  EXPECT_TRUE(breaks(p, "cluster"));
  p.tiling = {128, 192, 4, 4};
  EXPECT_TRUE(validate::broken_rules(p).empty());
}

TEST(ProblemRules, RefusesMixedSixteenBitOperands) {
  Problem p = plain();
  p.b_dtype = DType::kF16;
  EXPECT_TRUE(breaks(p, "format"));
}

TEST(ProblemRules, NvFp4NeedsGlobalScalesAndVectorsOf16) {
  Problem p = plain();
  p.a_dtype = p.b_dtype = DType::kE2m1;
  p.a_major = p.b_major = Major::kK;
  p.scales = ScaleSpec{DType::kE4m3, 32, ScaleLayout::kSwizzled, false};
  EXPECT_TRUE(breaks(p, "sf-vec-size"));
  EXPECT_TRUE(breaks(p, "global-scale"));
  p.scales = ScaleSpec{DType::kE4m3, 16, ScaleLayout::kSwizzled, true};
  EXPECT_TRUE(validate::broken_rules(p).empty());
  p.b_major = Major::kMn;
  EXPECT_TRUE(breaks(p, "fp4-major"));
}

}  // namespace
}  // namespace wgrad
