#include "wgrad/precompile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include "api/choice.hpp"
#include "core/environment.hpp"
#include "jit/kernel_cache.hpp"
#include "jit/resource_usage.hpp"
#include "kernels/family.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/support.hpp"

namespace wgrad {
namespace {

constexpr std::string_view kBackend = "cuda";

KernelOrigin public_origin(jit::Origin origin) {
  switch (origin) {
    case jit::Origin::kMemory:
      return KernelOrigin::kMemory;
    case jit::Origin::kDisk:
      return KernelOrigin::kDisk;
    default:
      return KernelOrigin::kCompiled;
  }
}

/// Of data sheets: H200, B200, B300.
struct Typical {
  int arch;
  int sms;
  int l2_mib;
};
constexpr Typical kTypical[] = {{90, 132, 50}, {100, 148, 126}, {103, 148, 126}};

std::vector<plan::Plan> wanted_plans(const Problem& problem, const DeviceSpec& device, bool all) {
  api::Choice choice = api::choose(problem, device, kBackend);
  throw_if_unsupported({choice.reasons});
  if (!all) return {choice.plan};
  return choice.backend->candidates(problem, device);
}

std::string not_kept(const core::Environment& environment, const std::error_code& error) {
  if (const auto disk = jit::DiskCache::of(environment)) {
    if (const std::string why = disk->why_not_used(); !why.empty()) return "wgrad: " + why;
    return fmt::format("wgrad: the kernel cache is {}; it must be a folder that can be written: {}",
                       disk->folder().string(), error.message());
  }
  return fmt::format("wgrad: WGRAD_CACHE_DIR is {}; it must name the folder of compiled kernels",
                     environment.cache_dir ? "empty" : "unset, as are XDG_CACHE_HOME and HOME");
}

PrecompiledKernel compile(const plan::Plan& plan, const kernels::KernelSource& source,
                          const core::Environment& environment) {
  const auto disk = jit::DiskCache::of(environment);
  const auto start = std::chrono::steady_clock::now();
  const jit::CachedKernel kernel = jit::KernelCache::instance().get(source, disk);
  PrecompiledKernel out;
  out.plan = plan.summary;
  out.origin = public_origin(kernel.origin);
  if (kernel.on_disk) {
    out.path = disk->path(kernel.key).string();
  } else {
    out.not_kept = not_kept(environment, kernel.disk_error);
  }
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto usage = jit::resource_usage(kernel.cubin->log).value_or(jit::ResourceUsage{});
  out.registers = usage.registers;
  out.spill_bytes = usage.spill_bytes;
  out.smem_bytes = usage.static_smem_bytes + source.shared_bytes;
  out.compiler_remarks = usage.warnings;
  return out;
}

}  // namespace

std::vector<PrecompiledKernel> precompile(std::span<const Problem> problems,
                                          const DeviceSpec& device,
                                          const PrecompileOptions& options) {
  const core::Environment environment = core::read_environment();
  std::vector<PrecompiledKernel> out;
  std::set<std::string> done;
  for (const Problem& problem : problems) {
    for (const plan::Plan& plan : wanted_plans(problem, device, options.every_candidate)) {
      const kernels::KernelSource source =
          jit::with_options_of(environment, plan.family->source(plan));
      if (!done.insert(source.digest()).second) continue;
      out.push_back(compile(plan, source, environment));
      if (options.progress) options.progress(out.back());
    }
  }
  return out;
}

DeviceSpec typical_cuda_device(int arch) {
  const auto* const found = std::find_if(std::begin(kTypical), std::end(kTypical),
                                         [&](const Typical& t) { return t.arch == arch; });
  if (found == std::end(kTypical)) {
    throw RuntimeError(
        fmt::format("wgrad: arch is {}; it must be 90 (Hopper), 100 (Blackwell) or 103 (Blackwell "
                    "Ultra): there are no kernels for others",
                    arch));
  }
  DeviceSpec device;
  device.kind = DeviceKind::kCuda;
  device.name = fmt::format("a typical SM {}.{} device", arch / 10, arch % 10);
  device.arch = arch;
  device.sm_count = found->sms;
  device.smem_bytes = 232448;
  device.l2_bytes = std::int64_t{found->l2_mib} << 20;
  device.allow_unverified = true;  // nothing runs on it
  return device;
}

}  // namespace wgrad
