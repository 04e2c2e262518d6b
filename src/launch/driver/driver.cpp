#include "launch/driver/driver.hpp"

#include <fmt/format.h>

#include "core/shared_library.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::launch {
namespace {

constexpr int kOldestDriver = 12000;  // the first with context-independent kernels and tensor maps

/// The first function that `library` lacks; empty where `api` is complete.
std::string bind(DriverApi& api, const core::SharedLibrary& library) {
  std::string missing;
  const auto bind = [&]<typename Function>(Function*& function, const char* name) {
    function = library.find<Function>(name);
    if (function == nullptr && missing.empty()) missing = name;
  };
  bind(api.init, "cuInit");
  bind(api.error_name, "cuGetErrorName");
  bind(api.error_string, "cuGetErrorString");
  bind(api.driver_version, "cuDriverGetVersion");
  bind(api.device_count, "cuDeviceGetCount");
  bind(api.device_name, "cuDeviceGetName");
  bind(api.device_attribute, "cuDeviceGetAttribute");
  bind(api.primary_context_retain, "cuDevicePrimaryCtxRetain");
  bind(api.context_get_current, "cuCtxGetCurrent");
  bind(api.context_push, "cuCtxPushCurrent_v2");
  bind(api.context_pop, "cuCtxPopCurrent_v2");
  bind(api.context_get_device, "cuCtxGetDevice");
  bind(api.stream_get_context, "cuStreamGetCtx");
  bind(api.stream_is_capturing, "cuStreamIsCapturing");
  bind(api.stream_get_id, "cuStreamGetId");
  bind(api.stream_synchronize, "cuStreamSynchronize");
  bind(api.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  bind(api.copy_to_host_async, "cuMemcpyDtoHAsync_v2");
  bind(api.host_alloc, "cuMemHostAlloc");
  bind(api.host_device_pointer, "cuMemHostGetDevicePointer_v2");
  bind(api.pointer_attribute, "cuPointerGetAttribute");
  bind(api.library_load_data, "cuLibraryLoadData");
  bind(api.library_get_kernel, "cuLibraryGetKernel");
  bind(api.library_get_global, "cuLibraryGetGlobal");
  bind(api.kernel_set_attribute, "cuKernelSetAttribute");
  bind(api.kernel_get_function, "cuKernelGetFunction");
  bind(api.tensor_map_encode, "cuTensorMapEncodeTiled");
  bind(api.launch_kernel, "cuLaunchKernelEx");
  return missing;
}

void initialise(const DriverApi& api) {
  const CuResult result = api.init(0);
  if (result == kCuErrorNoDevice) {
    throw RuntimeError(
        "wgrad: the NVIDIA driver sees no CUDA device (cuInit); is one visible to "
        "this process (CUDA_VISIBLE_DEVICES)?");
  }
  check(api, result, "the NVIDIA driver does not start (cuInit)");
}

}  // namespace

DriverApi open_driver(const std::string& name) {
  std::string why;
  const auto library = core::SharedLibrary::open(name, &why);
  if (!library) {
    throw RuntimeError(
        fmt::format("wgrad: no NVIDIA driver was found, so nothing can run on a CUDA "
                    "device: install one of CUDA 12.0 or later; looked for {} ({})",
                    name, why));
  }
  DriverApi api;
  const std::string missing = bind(api, *library);
  if (api.driver_version != nullptr) {
    int version = 0;
    if (api.driver_version(&version) == kCuSuccess && version < kOldestDriver) {
      throw RuntimeError(
          fmt::format("wgrad: the NVIDIA driver is of CUDA {}; install one of CUDA "
                      "12.0 or later",
                      driver_version(api)));
    }
  }
  if (!missing.empty()) {
    throw RuntimeError(
        fmt::format("wgrad: {} lacks {}; install an NVIDIA driver of CUDA 12.0 or "
                    "later",
                    name, missing));
  }
  initialise(api);
  return api;
}

void check(const DriverApi& api, CuResult result, std::string_view what) {
  if (result == kCuSuccess) return;
  const char* name = nullptr;
  const char* text = nullptr;
  api.error_name(result, &name);
  api.error_string(result, &text);
  throw RuntimeError(fmt::format("wgrad: {}: {} ({})", what,
                                 text != nullptr ? text : "unknown error",
                                 name != nullptr ? name : std::to_string(result)));
}

int version_number(const DriverApi& api) {
  int version = 0;
  check(api, api.driver_version(&version), "the NVIDIA driver does not say its version");
  return version;
}

std::string driver_version(const DriverApi& api) {
  const int version = version_number(api);
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

}  // namespace wgrad::launch
