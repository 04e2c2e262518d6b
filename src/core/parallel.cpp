#include "core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "core/environment.hpp"

namespace wgrad::core {
namespace {

class Loop {
 public:
  Loop(std::int64_t count, const std::function<void(std::int64_t)>& body)
      : count_(count), body_(body) {}

  void work() noexcept {
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

}  // namespace

int usable_threads() {
  const int wanted = read_environment().threads;
  if (wanted > 0) return wanted;
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
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
