#include "launch/device_data.hpp"

#include <cstdint>
#include <vector>

#include "launch/driver/driver.hpp"
#include "validate/data_rules.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/support.hpp"

namespace wgrad::launch {
namespace {

void refuse_capture(const DriverApi& api, CuStream stream) {
  int status = kCuCaptureNone;
  check(api, api.stream_is_capturing(stream, &status),
        "stream does not say whether it is captured");
  if (status == kCuCaptureNone) return;
  throw RuntimeError(
      "wgrad: validation of device data is on (validate_device_data or WGRAD_VALIDATE) and stream "
      "is being captured into a CUDA graph; it must not be: validation reads the offsets back and "
      "waits for them");
}

template <typename T>
std::vector<T> copy_back(const DriverApi& api, const T* from, std::int64_t count, CuStream stream) {
  std::vector<T> values(static_cast<std::size_t>(count));
  check(api,
        api.copy_to_host_async(values.data(), reinterpret_cast<CuAddress>(from),
                               values.size() * sizeof(T), stream),
        "device data cannot be read back for validation");
  return values;
}

}  // namespace

std::vector<std::int32_t> offsets_read_back(const DriverApi& api, const std::int32_t* offsets,
                                            std::int64_t experts, CuStream stream) {
  refuse_capture(api, stream);
  std::vector<std::int32_t> out = copy_back(api, offsets, experts, stream);
  check(api, api.stream_synchronize(stream), "waiting for the data to validate failed");
  return out;
}

void validate_device_data(const DriverApi& api, const Problem& p, const Operands& o,
                          CuStream stream) {
  refuse_capture(api, stream);
  const auto offsets = copy_back(api, o.offsets, p.experts, stream);
  const auto pointers =
      copy_back(api, o.wgrad_ptrs, o.wgrad_ptrs != nullptr ? p.experts : 0, stream);
  check(api, api.stream_synchronize(stream), "waiting for the data to validate failed");
  throw_if_unsupported({validate::broken_data_rules(p, o, offsets, pointers)});
}

}  // namespace wgrad::launch
