#include "cli/commands/scaling.hpp"

#include <gtest/gtest.h>

namespace wgrad::cli {
namespace {

const bench::Shape kMixtral = {"mixtral", 8, 4096, 14336, 32768, bench::Distribution::kJitter};

TEST(Scaling, TouchesMNAndTOnly) {
  const bench::Shape s = scaled(kMixtral, 0.125);
  EXPECT_EQ(s.experts, 8);
  EXPECT_EQ(s.m, 512);
  EXPECT_EQ(s.n, 1792);
  EXPECT_EQ(s.tokens, 4096);
  EXPECT_EQ(s.distribution, bench::Distribution::kJitter);
}

TEST(Scaling, KeepsRowsAligned) {
  const bench::Shape s =
      scaled({"gpt-oss", 128, 2880, 2880, 65536, bench::Distribution::kJitter}, 0.125);
  EXPECT_EQ(s.m, 368);  // 360 is no multiple of 16
  EXPECT_EQ(scaled(kMixtral, 1e-6).m, 16);
}

TEST(Scaling, FactorOneChangesNothing) {
  const bench::Shape odd = {"odd", 1, 40, 24, 37, bench::Distribution::kEven};
  const bench::Shape s = scaled(odd, 1.0);
  EXPECT_EQ(s.m, 40);
  EXPECT_EQ(s.tokens, 37);
}

TEST(Scaling, AutomaticFactorIsTheLargestWithinTheBudget) {
  // 2 * 32768 * 4096 * 14336 = 3.85e12; an eighth of each extent is 1/512 of it.
  EXPECT_EQ(automatic_factor(kMixtral, 3.9e12), 1.0);
  EXPECT_EQ(automatic_factor(kMixtral, 3.8e12), 0.5);
  EXPECT_EQ(automatic_factor(kMixtral, 8e9), 0.125);
}

TEST(Scaling, TheReferenceGetsLessWork) {
  EXPECT_LT(flop_budget("reference", 2), flop_budget("", 2));
  EXPECT_LT(flop_budget("emu", 64), flop_budget("", 2));
  EXPECT_GT(flop_budget("cuda", 1), flop_budget("", 64));
  EXPECT_NE(scaling_rule("", 2).find("8 GFLOP"), std::string::npos) << scaling_rule("", 2);
}

}  // namespace
}  // namespace wgrad::cli
