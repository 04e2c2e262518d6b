#include "support/few_threads.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <limits>

namespace {

constexpr int kUnlimited = std::numeric_limits<int>::max();
std::atomic<int> g_left{kUnlimited};

}  // namespace

/// Stands before the C library's.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*start)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto kCreate = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (g_left != kUnlimited && g_left.fetch_sub(1) <= 0) return EAGAIN;
  return kCreate(thread, attributes, start, argument);
}

namespace wgrad::test {

FewThreads::FewThreads(int more) {
  g_left = more;
}
FewThreads::~FewThreads() {
  g_left = kUnlimited;
}

}  // namespace wgrad::test
