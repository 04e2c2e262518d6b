#include "core/saturating.hpp"

#include <gtest/gtest.h>

namespace wgrad::core {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(Saturating, StopsAtTheLargestNumber) {
  EXPECT_EQ(saturating_add(2, 3), 5);
  EXPECT_EQ(saturating_add(kMost - 1, 1), kMost);
  EXPECT_EQ(saturating_add(kMost, 1), kMost);
  EXPECT_EQ(saturating_add(kMost, kMost), kMost);
  EXPECT_EQ(saturating_multiply(6, 7), 42);
  EXPECT_EQ(saturating_multiply(kMost, 1), kMost);
  EXPECT_EQ(saturating_multiply(kMost, 0), 0);
  EXPECT_EQ(saturating_multiply(kMost / 2 + 1, 4), kMost) << "2^64 wraps around to 0";
}

}  // namespace
}  // namespace wgrad::core
