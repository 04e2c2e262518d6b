#include "launch/sm90_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "launch/current_context.hpp"
#include "launch/device_data.hpp"
#include "launch/driver.hpp"
#include "launch/operand_limits.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/support.hpp"

namespace wgrad::launch {
namespace {

CuAddress address(const void* pointer) {
  return reinterpret_cast<CuAddress>(pointer);
}

std::int64_t row_pitch_bytes(const Problem& p) {
  return row_pitch(p) * bits(p.wgrad_dtype) / 8;
}

shared::KernelParams static_params(const Problem& p, const kernels::sm90::LaunchConfig& config) {
  shared::KernelParams params = {};
  params.expert_stride_bytes = expert_stride(p) * bits(p.wgrad_dtype) / 8;
  params.row_pitch_bytes = row_pitch_bytes(p);
  params.m = static_cast<shared::i32>(p.m);
  params.n = static_cast<shared::i32>(p.n);
  params.experts = static_cast<shared::i32>(p.experts);
  params.raster_m = config.raster_m;
  return params;
}

/// Only the maps of plain K-major operands bound the token axis themselves.
MapKey operand_key(shared::OperandLayout layout, CuAddress base, std::int64_t ld,
                   std::int64_t tokens) {
  return {base, ld, layout == shared::OperandLayout::kKMajor ? tokens : 0};
}

}  // namespace

Sm90Launch::Sm90Launch(Runtime& runtime, const Problem& problem,
                       const kernels::sm90::LaunchConfig& config,
                       std::shared_ptr<LoadedKernel> kernel, bool validate, int device)
    : runtime_(runtime),
      problem_(problem),
      config_(config),
      kernel_(std::move(kernel)),
      validate_(validate),
      static_params_(static_params(problem, config)),
      shared_(std::make_unique<Shared>()) {
  const int ready = device >= 0 ? device : current_device(runtime_.api());
  if (ready < 0) return;
  runtime_.check_device(ready);
  const CurrentContext current(runtime_, ready);
  make_ready(ready);
}

int Sm90Launch::device_of(const Operands& o) const {
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
void Sm90Launch::make_ready(int device) const {
  kernel_->make_ready(device);
  std::call_once(shared_->once, [&] {
    const RelaxedCapture relaxed(runtime_.api());
    shared_->owner = std::make_unique<FaultRecords>(runtime_.faults(), runtime_.device_count());
    shared_->records.store(shared_->owner.get(), std::memory_order_release);
  });
}

void Sm90Launch::launch(const Operands& o) const {
  std::vector<Reason> broken = operand_limits(problem_, o);
  if (!broken.empty()) throw_if_unsupported({std::move(broken)});
  const int device = device_of(o);
  const auto stream = static_cast<CuStream>(o.stream);
  const CurrentContext current(runtime_, device, stream);
  make_ready(device);
  if (validate_) validate_device_data(runtime_.api(), problem_, o, stream);
  shared::KernelParams params = static_params_;
  set_operands(params, o, device);
  set_maps(params, o);
  if (shared::cluster_ctas(config_.kernel) == 1)
    params.claims = kernel_->claims(device, stream, current.handle());
  start(params, stream);
}

void Sm90Launch::set_operands(shared::KernelParams& params, const Operands& o, int device) const {
  params.a = address(o.a);
  params.b = address(o.b);
  params.offsets = address(o.offsets);
  params.wgrad = address(o.wgrad);
  params.wgrad_ptrs = address(o.wgrad_ptrs);
  // Any aligned address of the device will do where there is no dense output.
  params.out_map_base = o.wgrad != nullptr ? params.wgrad : params.wgrad_ptrs / 16 * 16;
  params.fault = shared_->records.load(std::memory_order_acquire)->address(device);
  params.tokens = o.tokens;
  params.trace = address(o.workspace);
}

/// Without tokens A and B may be null; their maps, which no load will use, then point at the
/// output.
void Sm90Launch::set_maps(shared::KernelParams& params, const Operands& o) const {
  const DriverApi& api = runtime_.api();
  const shared::Config& c = config_.kernel;
  const std::int64_t ld_a = map_ld_a(problem_, o);
  const std::int64_t ld_b = map_ld_b(problem_, o);
  params.token_alignment = shared::operands_alignment(c, params.a, ld_a, params.b, ld_b);
  const CuAddress a = o.tokens > 0 ? params.a : params.out_map_base;
  const CuAddress b = o.tokens > 0 ? params.b : params.out_map_base;
  params.map_a = shared_->a.get(api, operand_key(c.a, a, ld_a, o.tokens),
                                [&] { return shared::a_map(c, problem_.m, o.tokens, ld_a); });
  params.map_b = shared_->b.get(api, operand_key(c.b, b, ld_b, o.tokens),
                                [&] { return shared::b_map(c, problem_.n, o.tokens, ld_b); });
  params.map_out = shared_->out.get(api, {params.out_map_base, 0, 0}, [&] {
    return shared::output_map(c, problem_.m, problem_.n, row_pitch_bytes(problem_));
  });
}

void Sm90Launch::start(shared::KernelParams& params, CuStream stream) const {
  const auto cluster = static_cast<unsigned>(shared::cluster_ctas(config_.kernel));
  CuLaunchAttribute attributes[2];
  attributes[0].id = kCuProgrammaticStreamSerialization;  // common/setup.cuh waits
  attributes[0].value.allowed = config_.overlaps && runtime_.overlaps_launches() ? 1 : 0;
  attributes[1].id = kCuClusterDimension;
  attributes[1].value.cluster[0] = cluster;
  attributes[1].value.cluster[1] = attributes[1].value.cluster[2] = 1;
  CuLaunchConfig launch;
  launch.grid[0] = static_cast<unsigned>(config_.grid);
  launch.block[0] = static_cast<unsigned>(shared::threads_per_cta(config_.kernel));
  launch.shared_bytes = static_cast<unsigned>(config_.smem_bytes);
  launch.stream = stream;
  launch.attributes = attributes;
  launch.attribute_count = cluster > 1 ? 2 : 1;
  void* arguments[] = {&params};
  const DriverApi& api = runtime_.api();
  const CuResult result = api.launch_kernel(&launch, kernel_->function(), arguments, nullptr);
  if (result != kCuSuccess)
    check(api, result, "the launch failed, or an earlier one on this device");
}

std::optional<DeviceFault> Sm90Launch::fault() const {
  const FaultRecords* records = shared_->records.load(std::memory_order_acquire);
  return records != nullptr ? records->first() : std::nullopt;
}

void Sm90Launch::clear_fault() const {
  FaultRecords* records = shared_->records.load(std::memory_order_acquire);
  if (records != nullptr) records->clear();
}

}  // namespace wgrad::launch
