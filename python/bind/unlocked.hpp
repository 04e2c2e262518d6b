// Work without the GIL, in threads that may outlive the interpreter.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <chrono>

namespace wgrad::python {

/// Gives the GIL away while it lives. CPython before 3.14 ends a daemon thread that takes it back
/// while the interpreter ends by pthread_exit(), whose unwinding no destructor may let pass; such a
/// thread sleeps here instead, as it does in CPython since. Source: CPython, "Cautions regarding
/// runtime finalization".
class Unlocked {
 public:
  /// Never returns in a thread that comes after end_work() began.
  Unlocked() : state_(PyEval_SaveThread()) { begin(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    finish();
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {  // the unwinding: no exception comes from there
      for (;;) pause();
    }
  }

 private:
  static void begin();
  static void finish();

  PyThreadState* state_;
};

/// Before the interpreter ends, with the GIL: lets no other thread begin, and waits for those that
/// work, `most` at the longest. A call that is still under way when the process runs its static
/// destructors may find the libraries that it calls gone.
void end_work(std::chrono::milliseconds most);

}  // namespace wgrad::python
