// Makes a device's context current for one scope, and what was current before current again.
#pragma once

#include "launch/driver/runtime.hpp"

namespace wgrad::launch {

class CurrentContext {
 public:
  /// Leaves a current context of `device` as it is. Else makes the context of `stream` current,
  /// where there is a stream, and the device's primary context where there is none.
  CurrentContext(Runtime& runtime, int device, CuStream stream = nullptr);
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;
  ~CurrentContext();

  CuContext handle() const noexcept { return context_; }

 private:
  const DriverApi& api_;
  CuContext context_ = nullptr;
  bool pushed_ = false;
};

/// While a graph is captured, lets this thread prepare what the capture does not contain (loading a
/// kernel, taking pinned memory), which CUDA otherwise refuses.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverApi& api);
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture();

 private:
  const DriverApi& api_;
  int mode_ = kCuCaptureModeRelaxed;
};

/// Device of the current context; -1 where none is current.
int current_device(const DriverApi& api) noexcept;

}  // namespace wgrad::launch
