// Numbers of one kind of thread do not stand for another.
#include "wgrad/common/threads.cuh"

#include <gtest/gtest.h>

#include <type_traits>

#include "wgrad/sm90/fragment.hpp"

namespace wgrad::device {
namespace {

template <typename X, typename Y>
constexpr bool kAlike = std::is_convertible_v<X, Y> || std::is_convertible_v<Y, X>;
static_assert(!kAlike<MathThread, MathWarpgroup> && !kAlike<MathThread, MathWarp>);
static_assert(!kAlike<MathWarp, MathWarpgroup> && !kAlike<MathThread, LoaderThread>);
static_assert(!kAlike<MathWarp, unsigned>);

TEST(Fragment, CoversSixteenRowsOfAGroupOnce) {
  using shared::sm90::Fragment;
  int held[16][8] = {};
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) ++held[Fragment::row(lane, i)][Fragment::column(lane, i)];
  }
  for (const auto& row : held) {
    for (const int count : row) EXPECT_EQ(count, 1);
  }
  EXPECT_EQ(Fragment::row(31, 2), 15);
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(Fragment::row<true>(lane, 0), lane / 4 * 2);
    EXPECT_EQ(Fragment::row<true>(lane, 3), lane / 4 * 2 + 1);
  }
  EXPECT_EQ(Fragment::column(1, 5), 11);
}

}  // namespace
}  // namespace wgrad::device
