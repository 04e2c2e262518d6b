// Work without the GIL, in threads that may outlive the interpreter.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace wgrad::python {

/// Gives the GIL away while it lives. A daemon thread that would take it back while the interpreter
/// ends sleeps for good instead: CPython before 3.14 unwinds such a thread, which C++ answers with
/// std::terminate. Source: CPython, "Cautions regarding runtime finalization".
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    while (finalizing()) pause();
    PyEval_RestoreThread(state_);
  }

 private:
  static bool finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing() != 0;
#else
    return _Py_IsFinalizing() != 0;
#endif
  }

  PyThreadState* state_;
};

}  // namespace wgrad::python
