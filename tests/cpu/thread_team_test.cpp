#include "cpu/thread_team.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <stdexcept>
#include <thread>
#include <vector>

namespace wgrad::cpu {
namespace {

TEST(ThreadTeam, RunsEveryTaskOnce) {
  for (const std::int64_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> hits(static_cast<std::size_t>(count));
    run_tasks(count, 4, [&](std::int64_t i) { ++hits[static_cast<std::size_t>(i)]; });
    for (const auto& hit : hits) EXPECT_EQ(hit, 1);
  }
}

// A helper that wakes up to a job may find its last task taken.
TEST(ThreadTeam, ShortJobsInQuickSuccession) {
  std::atomic<std::int64_t> run{0};
  constexpr int kJobs = 60000;
  for (int job = 0; job < kJobs; ++job) {
    run_tasks(6, 4, [&](std::int64_t) {
      for (std::atomic<int> spin{0}; spin < job % 97 * 4;) ++spin;  // about as long as a wake-up
      ++run;
    });
  }
  EXPECT_EQ(run, 6 * kJobs);
}

TEST(ThreadTeam, NeverMoreThreadsThanAskedFor) {
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  run_tasks(400, 3, [&](std::int64_t) {
    const int active = ++now;
    int seen = most;
    while (seen < active && !most.compare_exchange_weak(seen, active)) {
    }
    std::this_thread::yield();
    --now;
  });
  EXPECT_LE(most, 3);
  EXPECT_GE(most, 1);
}

TEST(ThreadTeam, HelpersWorkWhileTheCallerIsBusy) {
  std::atomic<bool> helped{false};
  const auto caller = std::this_thread::get_id();
  run_tasks(2, 2, [&](std::int64_t) {
    if (std::this_thread::get_id() != caller) {
      helped = true;
      return;
    }
    for (int i = 0; i < 5000 && !helped; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  EXPECT_TRUE(helped);
}

TEST(ThreadTeam, RethrowsAndDropsTheRest) {
  std::atomic<int> run{0};
  const auto failing = [&](std::int64_t) {
    ++run;
    throw std::runtime_error("task failed");
  };
  EXPECT_THROW(run_tasks(100000, 2, failing), std::runtime_error);
  EXPECT_LE(run, 2);
  run_tasks(3, 2, [&](std::int64_t) { ++run; });  // still usable
}

TEST(ThreadTeam, NestsAndServesSeveralCallers) {
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      run_tasks(8, 3, [&](std::int64_t) { run_tasks(8, 3, [&](std::int64_t) { ++total; }); });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 8 * 8);
}

/// What a sum of this thread rounds to: 1, or what follows it. (fegetround() reads the x87 unit.)
double rounded_sum() {
  volatile double one = 1.0;
  volatile double bit = 0x1p-60;
  return one + bit;
}

TEST(ThreadTeam, GivesTheCallerItsRoundingModeBack) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  double inside = 0;
  run_tasks(1, 1, [&](std::int64_t) { inside = rounded_sum(); });
  const double outside = rounded_sum();
  ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
  EXPECT_EQ(inside, 1.0);
  EXPECT_GT(outside, 1.0);
}

TEST(ThreadTeam, AForkedChildStartsItsOwnHelpers) {
  run_tasks(16, 2, [](std::int64_t) {});
  EXPECT_GE(helper_count(), 1);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // a hang becomes a failure
    const int inherited = helper_count();
    std::atomic<int> run{0};
    run_tasks(16, 2, [&](std::int64_t) { ++run; });
    _exit(inherited == 0 && run == 16 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace wgrad::cpu
