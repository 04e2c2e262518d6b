#include "launch/driver/runtime.hpp"

#include <fmt/format.h>

#include <array>

#include "launch/driver/driver.hpp"
#include "launch/driver/loaded_kernel.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::launch {
namespace {

int count_devices(const DriverApi& api) {
  int count = 0;
  check(api, api.device_count(&count), "the CUDA devices cannot be counted");
  return count;
}

constexpr int kGraphsOverlapLaunches = 12030;  // version_number()

}  // namespace

Runtime::Runtime(const DriverApi& api)
    : api_(api),
      device_count_(count_devices(api_)),
      overlaps_launches_(version_number(api_) >= kGraphsOverlapLaunches),
      faults_(api_, device_count_),
      primary_(static_cast<std::size_t>(device_count_)) {}

Runtime::~Runtime() = default;

Runtime& Runtime::instance() {
  static std::mutex mutex;
  static Runtime* opened = nullptr;  // outlives every static that may still hold an Executable
  const std::lock_guard lock(mutex);
  if (opened == nullptr) opened = std::make_unique<Runtime>(open_driver()).release();
  return *opened;
}

void Runtime::check_device(int device) const {
  if (device >= 0 && device < device_count_) return;
  throw ValueError(
      fmt::format("wgrad: device is {}; it must be from 0 to {}", device, device_count_ - 1));
}

int Runtime::attribute(int attribute, int device) const {
  int value = 0;
  check(api_, api_.device_attribute(&value, attribute, device),
        "a CUDA device does not say what it offers");
  return value;
}

DeviceSpec Runtime::device_spec(int device) const {
  check_device(device);
  std::array<char, 256> name = {};
  check(api_, api_.device_name(name.data(), static_cast<int>(name.size()), device),
        "a CUDA device does not say its name");
  DeviceSpec spec;
  spec.kind = DeviceKind::kCuda;
  spec.name = name.data();
  spec.arch = attribute(kCuComputeCapabilityMajor, device) * 10 +
              attribute(kCuComputeCapabilityMinor, device);
  spec.sm_count = attribute(kCuMultiprocessorCount, device);
  spec.smem_bytes = attribute(kCuMaxSharedMemoryPerBlockOptin, device);
  spec.l2_bytes = attribute(kCuL2CacheSize, device);
  return spec;
}

CuContext Runtime::primary_context(int device) {
  check_device(device);
  const std::lock_guard lock(mutex_);
  CuContext& context = primary_[static_cast<std::size_t>(device)];
  if (context == nullptr) {
    check(api_, api_.primary_context_retain(&context, device),
          fmt::format("CUDA device {} gives no context", device));
  }
  return context;
}

std::shared_ptr<LoadedKernel> Runtime::load(const KernelModule& module) {
  const std::lock_guard lock(mutex_);
  auto& kernel = kernels_[module.key];
  if (kernel == nullptr) kernel = std::make_shared<LoadedKernel>(*this, module);
  return kernel;
}

}  // namespace wgrad::launch
