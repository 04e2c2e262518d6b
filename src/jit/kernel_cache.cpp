#include "jit/kernel_cache.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/digest.hpp"
#include "core/log.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::jit {
namespace {

const std::string& headers_digest() {
  static const std::string kDigest = [] {
    core::Sha256 digest;
    for (const DeviceHeader& header : device_headers())
      digest.field(header.name).field(header.text);
    return digest.hex();
  }();
  return kDigest;
}

std::string full_key(const std::string& source_key, const std::string& compiler_version) {
  return fmt::format("{}-nvrtc{}", source_key, compiler_version);
}

std::shared_ptr<const Cubin> share(Cubin cubin) {
  return std::make_shared<const Cubin>(std::move(cubin));
}

/// What another machine's compiler left on a shared disk.
std::optional<CachedKernel> written_elsewhere(const std::string& source_key,
                                              const std::optional<DiskCache>& disk) {
  if (!disk) return std::nullopt;
  for (const std::string& key : disk->keys(source_key)) {
    if (auto cubin = disk->load(key)) {
      return CachedKernel{key, share(*std::move(cubin)), Origin::kDisk, true, {}};
    }
  }
  return std::nullopt;
}

}  // namespace

Compiler nvrtc_compiler() {
  return {[] { return Nvrtc::instance().version(); },
          [](const codegen::KernelSource& source) {
            return Nvrtc::instance().compile(source, device_headers());
          }};
}

std::string source_key(const codegen::KernelSource& source) {
  return core::Sha256().field(headers_digest()).field(source.digest()).hex();
}

KernelCache& KernelCache::instance() {
  static KernelCache cache(nvrtc_compiler());
  return cache;
}

std::shared_ptr<KernelCache::Entry> KernelCache::entry(const std::string& source_key) {
  const std::lock_guard lock(mutex_);
  auto& slot = entries_[source_key];
  if (slot == nullptr) slot = std::make_shared<Entry>();
  return slot;
}

CachedKernel KernelCache::find_or_compile(const std::string& source_key,
                                          const codegen::KernelSource& source,
                                          const std::optional<DiskCache>& disk) const {
  std::string key;
  try {
    key = full_key(source_key, compiler_.version());
  } catch (const RuntimeError&) {
    if (auto found = written_elsewhere(source_key, disk)) return *std::move(found);
    throw;
  }
  if (disk) {
    if (auto cubin = disk->load(key)) {
      return {key, share(*std::move(cubin)), Origin::kDisk, true, {}};
    }
  }
  auto cubin = share(compiler_.compile(source));
  core::log(1, fmt::format("compiled {}", source.name));
  const std::error_code error = disk ? disk->store(key, *cubin) : std::error_code();
  return {std::move(key), std::move(cubin), Origin::kCompiled, disk && !error, error};
}

CachedKernel KernelCache::get(const codegen::KernelSource& source,
                              const std::optional<DiskCache>& disk) {
  const std::string name = source_key(source);
  const auto slot = entry(name);
  const std::lock_guard lock(slot->mutex);
  if (slot->cubin == nullptr) {
    CachedKernel found = find_or_compile(name, source, disk);
    slot->cubin = found.cubin;
    slot->key = found.key;
    return found;
  }
  std::error_code error;
  if (disk && !disk->load(slot->key)) error = disk->store(slot->key, *slot->cubin);
  return {slot->key, slot->cubin, Origin::kMemory, disk && !error, error};
}

}  // namespace wgrad::jit
