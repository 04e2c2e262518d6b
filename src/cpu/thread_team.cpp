#include "cpu/thread_team.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "core/float_environment.hpp"
#include "cpu/tiles/tile_matmul.hpp"

namespace wgrad::cpu {
namespace {

struct Job {
  const std::function<void(std::int64_t)>& task;
  std::int64_t count;
  std::atomic<std::int64_t> next{0};
  std::exception_ptr error;  ///< guarded by the team's mutex
  int open = 0;              ///< helpers still wanted
  int active = 0;            ///< helpers at work
};

class Team {
 public:
  void run(Job& job, int helpers) {
    const auto place = announce(job, helpers);
    work(job);
    std::unique_lock lock(mutex_);
    jobs_.erase(place);
    ended_.wait(lock, [&] { return job.active == 0; });
  }

  int helpers() {
    const std::lock_guard lock(mutex_);
    return helpers_;
  }

 private:
  std::list<Job*>::iterator announce(Job& job, int helpers) {
    const std::lock_guard lock(mutex_);
    start_helpers(helpers);
    job.open = helpers;
    const auto place = jobs_.insert(jobs_.end(), &job);
    if (helpers == 1) {
      announced_.notify_one();
    } else if (helpers > 1) {
      announced_.notify_all();
    }
    return place;
  }

  /// With the mutex held. Signals go to the caller's threads, never to helpers.
  void start_helpers(int wanted) {
    if (helpers_ >= wanted) return;
    sigset_t all;
    sigset_t previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    try {
      for (; helpers_ < wanted; ++helpers_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error&) {  // no more threads to be had: go on with fewer
    }
    pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  }

  [[noreturn]] void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Job* found = nullptr;  // asked for once: without the mutex others still take tasks of it
      announced_.wait(lock, [&] { return (found = open_job()) != nullptr; });
      Job& job = *found;
      --job.open;
      ++job.active;
      lock.unlock();
      work(job);
      lock.lock();
      if (--job.active == 0) ended_.notify_all();
    }
  }

  Job* open_job() {
    const auto found = std::find_if(jobs_.begin(), jobs_.end(), [](const Job* job) {
      return job->open > 0 && job->next.load(std::memory_order_relaxed) < job->count;
    });
    return found == jobs_.end() ? nullptr : *found;
  }

  void work(Job& job) {
    const SingleThreaded single_threaded;
    const core::DefaultFloatEnvironment float_environment;
    try {
      for (std::int64_t i = job.next++; i < job.count; i = job.next++) job.task(i);
    } catch (...) {
      job.next = job.count;
      const std::lock_guard lock(mutex_);
      if (!job.error) job.error = std::current_exception();
    }
  }

  std::mutex mutex_;
  std::condition_variable announced_;
  std::condition_variable ended_;
  std::list<Job*> jobs_;
  int helpers_ = 0;
};

std::atomic<Team*> g_team{nullptr};
std::atomic<Team*> g_inherited{nullptr};  // a parent's team, unusable here but still reachable

/// Never destroyed: helpers outlive main(). A forked child has none of its parent's threads and
/// maybe a locked mutex, so it starts a team of its own.
Team& team() {
  static const int kRegistered =
      pthread_atfork(nullptr, nullptr, [] { g_inherited.store(g_team.exchange(nullptr)); });
  static_cast<void>(kRegistered);
  Team* current = g_team.load();
  if (current != nullptr) return *current;
  auto made = std::make_unique<Team>();
  if (g_team.compare_exchange_strong(current, made.get())) return *made.release();
  return *current;
}

}  // namespace

void run_tasks(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task) {
  if (count <= 0) return;
  Job job{task, count, {}, {}, 0, 0};
  team().run(job, static_cast<int>(std::min<std::int64_t>(threads, count)) - 1);
  if (job.error) std::rethrow_exception(job.error);
}

int helper_count() {
  return team().helpers();
}

}  // namespace wgrad::cpu
