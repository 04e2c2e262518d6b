#include "core/parallel.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "core/cpu_quota.hpp"
#include "core/environment.hpp"
#include "core/float_environment.hpp"

namespace wgrad::core {
namespace {

class Loop {
 public:
  Loop(std::int64_t count, const std::function<void(std::int64_t)>& body)
      : count_(count), body_(body) {}

  void work() noexcept {
    const DefaultFloatEnvironment float_environment;  // no result follows the caller's
    try {
      for (std::int64_t i = next_++; i < count_; i = next_++) body_(i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      next_ = count_;
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::int64_t count_;
  const std::function<void(std::int64_t)>& body_;
  std::atomic<std::int64_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr error_;
};

int allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

/// In a container fewer than the machine's: threads beyond its quota would only wait for each
/// other.
int usable_cores() {
  const int cores = allowed_cores();
  const std::optional<double> quota = cpu_quota();
  if (!quota) return cores;
  return static_cast<int>(std::clamp(std::ceil(*quota), 1.0, static_cast<double>(cores)));
}

}  // namespace

int usable_threads() {
  const int wanted = read_environment().threads;
  return wanted > 0 ? wanted : usable_cores();
}

void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& body) {
  Loop loop(count, body);
  std::vector<std::jthread> others;
  try {
    for (std::int64_t i = 1; i < std::min<std::int64_t>(threads, count); ++i) {
      others.emplace_back([&loop] { loop.work(); });
    }
  } catch (const std::system_error&) {  // no more threads to be had: go on with fewer
  }
  loop.work();
  others.clear();  // joins
  loop.rethrow();
}

}  // namespace wgrad::core
