// A process that may start few threads.
#pragma once

namespace wgrad::test {

/// While it lives, `more` threads can be started and no others.
class FewThreads {
 public:
  explicit FewThreads(int more);
  FewThreads(const FewThreads&) = delete;
  FewThreads& operator=(const FewThreads&) = delete;
  ~FewThreads();
};

}  // namespace wgrad::test
