#include "jit/kernel_cache.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/log.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::jit {
namespace {

std::string full_key(const std::string& key, const std::string& compiler_version) {
  return fmt::format("{}-nvrtc{}", key, compiler_version);
}

std::shared_ptr<const Cubin> share(Cubin cubin) {
  return std::make_shared<const Cubin>(std::move(cubin));
}

/// What another machine's compiler left on a shared disk.
std::optional<CachedKernel> written_elsewhere(const KernelKey& kernel,
                                              const std::optional<DiskCache>& disk) {
  if (!disk) return std::nullopt;
  for (const std::string& key : disk->keys(kernel.key)) {
    if (auto cubin = disk->load(key, kernel.contract)) {
      return CachedKernel{key, share(*std::move(cubin)), Origin::kDisk, true, {}};
    }
  }
  return std::nullopt;
}

}  // namespace

Compiler nvrtc_compiler() {
  return {[] { return Nvrtc::instance().version(); },
          [](const kernels::KernelSource& source, Headers headers) {
            return Nvrtc::instance().compile(source, headers);
          }};
}

kernels::KernelSource with_options_of(const core::Environment& environment,
                                      kernels::KernelSource source) {
  source.options.insert(source.options.end(), environment.nvrtc_options.begin(),
                        environment.nvrtc_options.end());
  return source;
}

KernelCache& KernelCache::instance() {
  static KernelCache cache(nvrtc_compiler());
  return cache;
}

std::shared_ptr<KernelCache::Entry> KernelCache::entry(const KernelKey& key) {
  const std::lock_guard lock(mutex_);
  auto& slot = entries_[key.key + key.contract];
  if (slot == nullptr) slot = std::make_shared<Entry>();
  return slot;
}

CachedKernel KernelCache::find_or_compile(const KernelKey& kernel,
                                          const kernels::KernelSource& source,
                                          const std::optional<DiskCache>& disk) const {
  std::string key;
  try {
    key = full_key(kernel.key, compiler_.version());
  } catch (const RuntimeError& error) {
    core::log_once(1, fmt::format("{}; kernels compiled elsewhere are looked for", error.what()));
    if (auto found = written_elsewhere(kernel, disk)) return *std::move(found);
    throw;
  }
  if (disk) {
    if (auto cubin = disk->load(key, kernel.contract)) {
      return {key, share(*std::move(cubin)), Origin::kDisk, true, {}};
    }
  }
  auto cubin = share(compiler_.compile(source, headers_));
  core::log(1, fmt::format("compiled {}", source.name));
  const std::error_code error =
      disk ? disk->store(key, *cubin, kernel.contract) : std::error_code();
  return {std::move(key), std::move(cubin), Origin::kCompiled, disk && !error, error};
}

CachedKernel KernelCache::get(const kernels::KernelSource& source,
                              const std::optional<DiskCache>& disk) {
  const KernelKey kernel = keys_.of(source);
  const auto slot = entry(kernel);
  const std::lock_guard lock(slot->mutex);
  if (slot->cubin == nullptr) {
    CachedKernel found = find_or_compile(kernel, source, disk);
    slot->cubin = found.cubin;
    slot->key = found.key;
    return found;
  }
  std::error_code error;
  if (disk && !disk->load(slot->key, kernel.contract)) {
    error = disk->store(slot->key, *slot->cubin, kernel.contract);
  }
  return {slot->key, slot->cubin, Origin::kMemory, disk && !error, error};
}

}  // namespace wgrad::jit
