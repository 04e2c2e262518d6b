#include "launch/current_context.hpp"

#include <cstdint>

#include "launch/driver.hpp"

namespace wgrad::launch {
namespace {

/// Streams 0, 1 and 2 are names (default, legacy, per-thread) and belong to whatever is current.
bool is_named(CuStream stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2;
}

CuContext context_for(Runtime& runtime, int device, CuStream stream) {
  if (is_named(stream)) return runtime.primary_context(device);
  CuContext context = nullptr;
  check(runtime.api(), runtime.api().stream_get_context(stream, &context),
        "stream is not a CUDA stream");
  return context;
}

}  // namespace

int current_device(const DriverApi& api) noexcept {
  CuContext context = nullptr;
  if (api.context_get_current(&context) != kCuSuccess || context == nullptr) return -1;
  CuDevice device = -1;
  return api.context_get_device(&device) == kCuSuccess ? device : -1;
}

CurrentContext::CurrentContext(Runtime& runtime, int device, CuStream stream)
    : api_(runtime.api()) {
  if (current_device(api_) == device) return;
  check(api_, api_.context_push(context_for(runtime, device, stream)),
        "a CUDA context cannot be made current");
  pushed_ = true;
}

CurrentContext::~CurrentContext() {
  CuContext popped = nullptr;
  if (pushed_) api_.context_pop(&popped);
}

RelaxedCapture::RelaxedCapture(const DriverApi& api) : api_(api) {
  check(api_, api_.exchange_capture_mode(&mode_), "the capture mode cannot be changed");
}

RelaxedCapture::~RelaxedCapture() {
  api_.exchange_capture_mode(&mode_);
}

}  // namespace wgrad::launch
