#include "harness/place.hpp"

#include "harness/gpu_by_name.hpp"
#include "harness/memory/cuda_device.hpp"

namespace wgrad::harness {
namespace {

constexpr int kEmulatedSms = 2;

}  // namespace

DeviceSpec emulated_device(int sms, const std::string& name) {
  DeviceSpec device = gpu_by_name(name);
  device.kind = DeviceKind::kEmulated;
  device.name = "emulated " + device.name;
  device.sm_count = sms > 0 ? sms : kEmulatedSms;
  return device;
}

Place place_of(const PlaceChoice& choice) {
  if (choice.backend == "cuda") return {cuda_device(choice.gpu), cuda_memory(choice.gpu)};
  if (choice.backend == "emu") return {emulated_device(choice.sms, choice.emulated), host_device()};
  DeviceSpec device = cpu_device();
  if (choice.threads > 0) device.threads = choice.threads;
  return {device, host_device()};
}

}  // namespace wgrad::harness
