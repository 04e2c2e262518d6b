#include "quantize/device_quantizer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "core/environment.hpp"
#include "jit/kernel_cache.hpp"
#include "launch/device_data.hpp"
#include "launch/driver/current_context.hpp"
#include "launch/driver/driver.hpp"
#include "launch/image_launch.hpp"
#include "quantize/rules.hpp"
#include "scales/offsets.hpp"
#include "scales/quantize_rules.hpp"

namespace wgrad::quantize {
namespace {

using launch::CuAddress;
using launch::CuStream;

void validate_offsets(const launch::DriverApi& api, const DeviceQuantization& call) {
  const std::vector<std::int32_t> offsets = launch::offsets_read_back(
      api, call.offsets, call.experts, static_cast<CuStream>(call.stream));
  scales::check_offsets(offsets, call.tokens);
  scales::check_packed_experts(offsets, call.spec);
}

}  // namespace

std::shared_ptr<launch::LoadedKernel> DeviceQuantizer::kernel(const KernelId& id) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kernels_.begin(), kernels_.end(),
                                  [&](const auto& entry) { return entry.first == id; });
  if (found != kernels_.end()) return found->second;
  return kernels_.emplace_back(id, load_(source(id))).second;
}

/// A context must be current.
CuAddress DeviceQuantizer::fault_record(int device) {
  const std::lock_guard lock(mutex_);
  if (records_ == nullptr) {
    const launch::RelaxedCapture relaxed(runtime_.api());
    records_ = std::make_unique<launch::FaultRecords>(runtime_.faults(), runtime_.device_count());
  }
  return records_->address(device);
}

int DeviceQuantizer::device_of(const DeviceQuantization& call) const {
  if (call.device >= 0) return runtime_.check_device(call.device), call.device;
  int device = -1;
  const auto result = runtime_.api().pointer_attribute(&device, launch::kCuPointerDeviceOrdinal,
                                                       reinterpret_cast<CuAddress>(call.offsets));
  if (result == launch::kCuSuccess && device >= 0) return device;
  scales::refuse_quantize(
      "offsets", fmt::format("at address {}, which no CUDA device knows", fmt::ptr(call.offsets)),
      "memory of the CUDA device that holds the operands");
}

void DeviceQuantizer::start(Step& step, int device, CuStream stream) {
  const auto loaded = kernel(step.kernel);
  loaded->make_ready(device);
  step.image.put_address(step.image.fault_at, fault_record(device));
  launch::start_image(runtime_, *loaded, step.image, stream);
}

void DeviceQuantizer::run(const DeviceQuantization& call, bool validate) {
  check_call(call);
  const int device = device_of(call);
  const DeviceSpec spec = runtime_.device_spec(device);
  check_device(spec);
  const auto stream = static_cast<CuStream>(call.stream);
  const launch::CurrentContext current(runtime_, device, stream);
  if (validate) validate_offsets(runtime_.api(), call);
  for (Step& step : steps(call, spec)) start(step, device, stream);
}

std::optional<DeviceFault> DeviceQuantizer::fault() const {
  const std::lock_guard lock(mutex_);
  return records_ != nullptr ? records_->first() : std::nullopt;
}

void DeviceQuantizer::clear_fault() const {
  const std::lock_guard lock(mutex_);
  if (records_ != nullptr) records_->clear();
}

}  // namespace wgrad::quantize

namespace wgrad {
namespace {

std::shared_ptr<launch::LoadedKernel> compiled(const kernels::KernelSource& source) {
  const core::Environment environment = core::read_environment();
  const jit::CachedKernel code = jit::KernelCache::instance().get(
      jit::with_options_of(environment, source), jit::DiskCache::of(environment));
  return launch::Runtime::instance().load(
      {code.key, code.cubin->bytes, source.entry, source.arch, source.shared_bytes});
}

/// Null before the first call: asking for faults opens no driver.
std::atomic<quantize::DeviceQuantizer*> opened = nullptr;

quantize::DeviceQuantizer& quantizer() {
  static quantize::DeviceQuantizer* const kQuantizer =  // outlives captured graphs
      std::make_unique<quantize::DeviceQuantizer>(launch::Runtime::instance(), compiled).release();
  opened.store(kQuantizer, std::memory_order_release);
  return *kQuantizer;
}

}  // namespace

void quantize_along_tokens(const DeviceQuantization& call) {
  quantizer().run(call, core::read_environment().validate);
}

std::optional<DeviceFault> quantize_fault() {
  const quantize::DeviceQuantizer* const one = opened.load(std::memory_order_acquire);
  return one != nullptr ? one->fault() : std::nullopt;
}

void clear_quantize_fault() {
  const quantize::DeviceQuantizer* const one = opened.load(std::memory_order_acquire);
  if (one != nullptr) one->clear_fault();
}

std::int64_t quantize_workspace_bytes(std::int64_t experts) noexcept {
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(experts, 0));
  return static_cast<std::int64_t>(sizeof(shared::QuantizeExpert) * (count + 2) + 8 * count);
}

}  // namespace wgrad
