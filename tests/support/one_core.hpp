// This process on a single core.
#pragma once

#include <sched.h>

#include <stdexcept>

namespace wgrad::test {

/// Until the end of the scope this thread, and threads that it starts, run on the first of the
/// cores that they might run on. Throws where the system does not allow it.
class OneCore {
 public:
  OneCore() {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) throw std::runtime_error("no mask");
    int first = 0;
    while (CPU_ISSET(first, &before_) == 0) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0) throw std::runtime_error("no single core");
  }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }

  int cores_before() const { return CPU_COUNT(&before_); }

 private:
  cpu_set_t before_{};
};

}  // namespace wgrad::test
