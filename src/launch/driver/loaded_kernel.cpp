#include "launch/driver/loaded_kernel.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "kernels/launch_image.hpp"
#include "launch/driver/current_context.hpp"
#include "launch/driver/driver.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::launch {
namespace {

std::string_view compiler_of(std::string_view key) {
  constexpr std::string_view kMark = "-nvrtc";
  const std::size_t at = key.rfind(kMark);
  return at == std::string_view::npos ? "of unknown version" : key.substr(at + kMark.size());
}

}  // namespace

LoadedKernel::LoadedKernel(Runtime& runtime, KernelModule module)
    : runtime_(runtime),
      module_(std::move(module)),
      claims_(static_cast<std::size_t>(runtime.device_count())),
      ready_(
          std::make_unique<std::atomic<bool>[]>(static_cast<std::size_t>(runtime.device_count()))) {
  const DriverApi& api = runtime_.api();
  check_load(api.library_load_data(&library_, module_.cubin.data(), nullptr, nullptr, 0, nullptr,
                                   nullptr, 0));
  check_load(api.library_get_kernel(&kernel_, library_, module_.entry.c_str()));
}

void LoadedKernel::check_load(CuResult result) const {
  if (result == kCuSuccess) return;
  check(runtime_.api(), result,
        fmt::format(
            "the NVIDIA driver (CUDA {}) does not load a kernel that NVRTC {} compiled; where "
            "the driver is the older one, update it or set WGRAD_NVRTC to an NVRTC of its "
            "version",
            driver_version(runtime_.api()), compiler_of(module_.key)));
}

void LoadedKernel::make_ready(int device) {
  if (is_ready(device)) return;
  const std::lock_guard lock(mutex_);
  if (is_ready(device)) return;
  const DeviceSpec spec = runtime_.device_spec(device);
  if (spec.arch != module_.arch) {
    throw RuntimeError(fmt::format(
        "wgrad: the operands are on CUDA device {} ({}, SM {}.{}); this "
        "operator was prepared for SM {}.{}",
        device, spec.name, spec.arch / 10, spec.arch % 10, module_.arch / 10, module_.arch % 10));
  }
  const DriverApi& api = runtime_.api();
  const RelaxedCapture relaxed(api);
  const CurrentContext current(runtime_, device);
  CuFunction loaded = nullptr;
  check_load(api.kernel_get_function(&loaded, kernel_));
  check(api,
        api.kernel_set_attribute(kCuMaxDynamicSharedSizeBytes, module_.smem_bytes, kernel_, device),
        fmt::format("CUDA device {} gives a CTA no {} bytes of shared memory", device,
                    module_.smem_bytes));
  claims_[static_cast<std::size_t>(device)] = find_counters(current.handle());
  ready_[static_cast<std::size_t>(device)].store(true, std::memory_order_release);
}

/// Without them tiles are dealt out in turn.
LoadedKernel::Counters LoadedKernel::find_counters(CuContext context) const {
  CuAddress first = 0;
  std::size_t bytes = 0;
  const CuResult result =
      runtime_.api().library_get_global(&first, &bytes, library_, kernels::kClaimsSymbol);
  if (result != kCuSuccess || bytes < sizeof(shared::ClaimCounters) * shared::kClaimSlots)
    return {};
  return {first, context};
}

CuAddress LoadedKernel::claims(int device, CuStream stream, CuContext context) {
  const Counters& counters = claims_[static_cast<std::size_t>(device)];
  if (counters.first == 0 || counters.context != context) return 0;
  const int slot = slots_.take(runtime_.api(), stream);
  if (slot == ClaimSlots::kNone) return 0;
  return counters.first + static_cast<CuAddress>(slot) * sizeof(shared::ClaimCounters);
}

}  // namespace wgrad::launch
