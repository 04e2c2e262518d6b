#include "core/parallel.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <stdexcept>

#include "support/few_threads.hpp"
#include "support/one_core.hpp"
#include "support/refusal.hpp"

namespace wgrad::core {
namespace {

void expect_each_once(int threads) {
  std::vector<int> calls(1000);
  parallel_for(1000, threads, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
  EXPECT_EQ(calls, std::vector<int>(1000, 1)) << threads << " threads";
}

TEST(ParallelFor, CallsEachOnce) {
  for (const int threads : {-1, 0, 1, 2, 7}) expect_each_once(threads);
  parallel_for(0, 4, [](std::int64_t) { FAIL(); });
}

TEST(ParallelFor, GoesOnWithFewerThreadsWhereNoMoreCanBeStarted) {
  for (const int more : {0, 2}) {
    const test::FewThreads few(more);
    expect_each_once(100);
  }
}

TEST(UsableThreads, AreTheCoresThatTheProcessMayRunOn) {
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs
  ASSERT_EQ(unsetenv("WGRAD_THREADS"), 0);
  const int before = usable_threads();
  {
    const test::OneCore pinned;
    EXPECT_EQ(before, pinned.cores_before());
    EXPECT_EQ(usable_threads(), 1);
    ASSERT_EQ(setenv("WGRAD_THREADS", "5", 1), 0);
    EXPECT_EQ(usable_threads(), 5);
    ASSERT_EQ(unsetenv("WGRAD_THREADS"), 0);
  }
  EXPECT_EQ(usable_threads(), before);
  // NOLINTEND(concurrency-mt-unsafe)
}

TEST(ParallelFor, RethrowsTheFirstException) {
  EXPECT_EQ(test::refusal<std::runtime_error>([] {
              parallel_for(100, 3, [](std::int64_t i) {
                if (i == 50) throw std::runtime_error("fifty");
              });
            }),
            "fifty");
}

}  // namespace
}  // namespace wgrad::core
