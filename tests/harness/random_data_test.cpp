#include "harness/random_data.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "harness/elements.hpp"
#include "support/few_threads.hpp"
#include "support/refusal.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::harness {
namespace {

TEST(RandomData, HasMeanZeroAndVarianceOne) {
  double sum = 0;
  double squares = 0;
  constexpr int kCount = 20000;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double x = random_normal(7, i);
    sum += x;
    squares += x * x;
    ASSERT_LT(std::fabs(x), 3.5);
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.03);
  EXPECT_NEAR(squares / kCount, 1.0, 0.03);
}

TEST(RandomData, DoesNotDependOnTheNumberOfThreads) {
  std::vector<std::byte> one(2 * 1001);
  std::vector<std::byte> three(2 * 1001);
  fill_random(DType::kBf16, one, 5, 1);
  fill_random(DType::kBf16, three, 5, 3);
  EXPECT_EQ(one, three);
  fill_random(DType::kBf16, three, 6, 3);
  EXPECT_NE(one, three);
}

TEST(RandomData, SaysThatSoManyThreadsCannotBeStarted) {
  std::vector<std::byte> array(2 * 1001);
  const test::FewThreads few(2);
  fill_random(DType::kBf16, array, 5, 3);
  EXPECT_EQ(test::refusal<RuntimeError>([&] { fill_random(DType::kBf16, array, 5, 9); }),
            "wgrad: threads is 9; it must be at most what this process may start, now 1: Resource "
            "temporarily unavailable");
}

TEST(RandomData, FillsEveryElementOfEveryDtype) {
  for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32}) {
    std::vector<std::byte> array(static_cast<std::size_t>(100 * bits(dtype) / 8), std::byte{0xFF});
    fill_random(dtype, array, 5, 2);
    for (int i = 0; i < 100; ++i) {
      const double exact = random_normal(5, static_cast<std::uint64_t>(i));
      EXPECT_NEAR(load(dtype, array.data(), i), exact, std::fabs(exact) * unit_roundoff(dtype));
    }
  }
}

}  // namespace
}  // namespace wgrad::harness
