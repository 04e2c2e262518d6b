#include "launch/driver_launch.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "kernels/family.hpp"
#include "launch/device_data.hpp"
#include "launch/driver/current_context.hpp"
#include "launch/driver/driver.hpp"
#include "launch/image_launch.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/support.hpp"

namespace wgrad::launch {
namespace {

CuAddress address(const void* pointer) {
  return reinterpret_cast<CuAddress>(pointer);
}

}  // namespace

DriverLaunch::DriverLaunch(Runtime& runtime, const Problem& problem, const plan::Plan& plan,
                           std::shared_ptr<LoadedKernel> kernel, bool validate, int device)
    : runtime_(runtime),
      problem_(problem),
      plan_(plan),
      kernel_(std::move(kernel)),
      validate_(validate),
      shared_(std::make_unique<Shared>(plan.family->image(problem, plan, {}).map_count)) {
  const int ready = device >= 0 ? device : current_device(runtime_.api());
  if (ready < 0) return;
  runtime_.check_device(ready);
  const CurrentContext current(runtime_, ready);
  make_ready(ready);
}

int DriverLaunch::device_of(const Operands& o) const {
  if (o.device >= 0) return runtime_.check_device(o.device), o.device;
  int device = -1;
  const CuResult result =
      runtime_.api().pointer_attribute(&device, kCuPointerDeviceOrdinal, address(o.offsets));
  if (result == kCuSuccess && device >= 0) return device;
  throw ValueError(
      fmt::format("wgrad: offsets is at address {}, which no CUDA device knows; it must be "
                  "memory of the CUDA device that holds the operands",
                  fmt::ptr(o.offsets)));
}

/// The context of `device` is current.
void DriverLaunch::make_ready(int device) const {
  kernel_->make_ready(device);
  std::call_once(shared_->once, [&] {
    const RelaxedCapture relaxed(runtime_.api());
    shared_->owner = std::make_unique<FaultRecords>(runtime_.faults(), runtime_.device_count());
    shared_->records.store(shared_->owner.get(), std::memory_order_release);
  });
}

void DriverLaunch::launch(const Operands& o) const {
  std::vector<Reason> broken;
  plan_.family->check_operands(broken, problem_, o);
  if (!broken.empty()) throw_if_unsupported({std::move(broken)});
  const int device = device_of(o);
  const auto stream = static_cast<CuStream>(o.stream);
  const CurrentContext current(runtime_, device, stream);
  make_ready(device);
  if (validate_) validate_device_data(runtime_.api(), problem_, o, stream);
  kernels::LaunchImage image = plan_.family->image(problem_, plan_, o);
  set_maps(image);
  const FaultRecords* records = shared_->records.load(std::memory_order_acquire);
  image.put_address(image.fault_at, records->address(device));
  if (image.claims_at != kernels::LaunchImage::kNowhere)
    image.put_address(image.claims_at, kernel_->claims(device, stream, current.handle()));
  start_image(runtime_, *kernel_, image, stream);
}

void DriverLaunch::set_maps(kernels::LaunchImage& image) const {
  for (std::uint32_t i = 0; i < image.map_count; ++i) {
    const kernels::TensorMapSlot& slot = image.maps[i];
    image.put_map(slot, shared_->maps[i].get(runtime_.api(), {slot.recipe, slot.base}));
  }
}

std::optional<DeviceFault> DriverLaunch::fault() const {
  const FaultRecords* records = shared_->records.load(std::memory_order_acquire);
  return records != nullptr ? records->first() : std::nullopt;
}

void DriverLaunch::clear_fault() const {
  FaultRecords* records = shared_->records.load(std::memory_order_acquire);
  if (records != nullptr) records->clear();
}

}  // namespace wgrad::launch
