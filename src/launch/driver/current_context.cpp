#include "launch/driver/current_context.hpp"

#include <cstdint>

#include "launch/driver/driver.hpp"

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

CuContext current(const DriverApi& api) noexcept {
  CuContext context = nullptr;
  return api.context_get_current(&context) == kCuSuccess ? context : nullptr;
}

/// `context` is the current one; -1 where it is none.
int device_of_current(const DriverApi& api, CuContext context) noexcept {
  CuDevice device = -1;
  if (context == nullptr || api.context_get_device(&device) != kCuSuccess) return -1;
  return device;
}

}  // namespace

int current_device(const DriverApi& api) noexcept {
  return device_of_current(api, current(api));
}

CurrentContext::CurrentContext(Runtime& runtime, int device, CuStream stream)
    : api_(runtime.api()) {
  context_ = current(api_);
  if (device_of_current(api_, context_) == device) return;
  context_ = context_for(runtime, device, stream);
  check(api_, api_.context_push(context_), "a CUDA context cannot be made current");
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
