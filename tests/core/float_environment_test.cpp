#include "core/float_environment.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <limits>

namespace wgrad::core {
namespace {

/// Sum and product that round; `volatile` keeps them where they stand.
double one_and_a_bit() {
  volatile double one = 1.0;
  volatile double bit = 0x1p-60;
  volatile double sum = one + bit;
  return sum;
}

float half_of_the_smallest_normal() {
  volatile float smallest = std::numeric_limits<float>::min();
  volatile float half = smallest * 0.5F;
  return half;
}

class FloatEnvironment : public testing::Test {
 protected:
  void SetUp() override { std::fegetenv(&before_); }
  void TearDown() override { std::fesetenv(&before_); }

 private:
  std::fenv_t before_{};
};

TEST_F(FloatEnvironment, RoundsToNearestWithinAndAsTheCallerAfter) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  ASSERT_GT(one_and_a_bit(), 1.0);
  {
    const DefaultFloatEnvironment environment;
    EXPECT_EQ(one_and_a_bit(), 1.0);
  }
  EXPECT_GT(one_and_a_bit(), 1.0);
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
}

TEST_F(FloatEnvironment, LeavesNoExceptionBehind) {
  std::feclearexcept(FE_ALL_EXCEPT);
  {
    const DefaultFloatEnvironment environment;
    EXPECT_EQ(one_and_a_bit(), 1.0);
    ASSERT_NE(std::fetestexcept(FE_INEXACT), 0);
  }
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
}

#ifdef __SSE2__
TEST_F(FloatEnvironment, KeepsSubnormalsWithinAndFlushesThemAfter) {
  constexpr unsigned kFlushToZero = 0x8000;
  constexpr unsigned kDenormalsAreZero = 0x0040;
  const unsigned control = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(control | kFlushToZero | kDenormalsAreZero);
  const float flushed = half_of_the_smallest_normal();
  float kept = 0;
  {
    const DefaultFloatEnvironment environment;
    kept = half_of_the_smallest_normal();
  }
  const float flushed_again = half_of_the_smallest_normal();
  __builtin_ia32_ldmxcsr(control);
  EXPECT_EQ(flushed, 0.0F);
  EXPECT_EQ(kept, 0x1p-127F);
  EXPECT_EQ(flushed_again, 0.0F);
}
#endif

}  // namespace
}  // namespace wgrad::core
