// Work without the GIL, in threads that may outlive the interpreter.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace wgrad::python {

/// Gives the GIL away while it lives. CPython before 3.14 ends a daemon thread that takes it back
/// while the interpreter ends by pthread_exit(), whose unwinding no destructor may let pass; such a
/// thread sleeps here instead, as it does in CPython since. Source: CPython, "Cautions regarding
/// runtime finalization".
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {  // the unwinding: no exception comes from there
      for (;;) pause();
    }
  }

 private:
  PyThreadState* state_;
};

}  // namespace wgrad::python
