#include "unlocked.hpp"

#include <pthread.h>

#include <atomic>
#include <thread>

namespace wgrad::python {
namespace {

std::atomic<int> working{0};
std::atomic<bool> ending{false};
std::thread::id the_one_that_ends;

/// A child of fork() has one thread, which does not work: it held the GIL.
void know_forks() {
  static const int kRegistered = pthread_atfork(nullptr, nullptr, [] { working = 0; });
  static_cast<void>(kRegistered);
}

bool must_not_begin() {
  return ending.load() && std::this_thread::get_id() != the_one_that_ends;
}

}  // namespace

void Unlocked::begin() {
  know_forks();
  ++working;
  if (!must_not_begin()) return;
  --working;
  for (;;) pause();
}

void Unlocked::finish() {
  --working;
}

void end_work(std::chrono::milliseconds most) {
  constexpr std::chrono::milliseconds kLook{1};
  the_one_that_ends = std::this_thread::get_id();
  ending = true;
  PyThreadState* const state = PyEval_SaveThread();
  const auto last = std::chrono::steady_clock::now() + most;
  while (working.load() > 0 && std::chrono::steady_clock::now() < last)
    std::this_thread::sleep_for(kLook);
  PyEval_RestoreThread(state);
}

}  // namespace wgrad::python
