// From source to machine code, at most once: memory, then disk, then the compiler.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>

#include "jit/disk_cache.hpp"
#include "jit/kernel_key.hpp"
#include "jit/nvrtc.hpp"
#include "kernels/kernel_source.hpp"

namespace wgrad::jit {

enum class Origin { kMemory, kDisk, kCompiled };

struct CachedKernel {
  std::string key;
  std::shared_ptr<const Cubin> cubin;
  Origin origin = Origin::kMemory;
  bool on_disk = false;        ///< the disk cache holds it now
  std::error_code disk_error;  ///< why it does not, where there is one
};

/// The compiler behind the cache. `version` is part of the key; both may throw RuntimeError.
struct Compiler {
  std::function<std::string()> version;
  std::function<Cubin(const kernels::KernelSource&, Headers)> compile;
};

Compiler nvrtc_compiler();

/// `source` with Environment::nvrtc_options behind its own, so that they are part of its key.
kernels::KernelSource with_options_of(const core::Environment& environment,
                                      kernels::KernelSource source);

class KernelCache {
 public:
  /// `headers`: what kernels include; they must outlive the cache.
  explicit KernelCache(Compiler compiler, Headers headers = device_headers())
      : compiler_(std::move(compiler)), headers_(headers), keys_(headers) {}

  /// The cache of this process.
  static KernelCache& instance();

  /// Machine code of `source`. Where no compiler can be opened, an entry on `disk` that another
  /// version of it wrote will do. Threads that ask for the same source wait for one compilation;
  /// processes do not wait for each other. Throws RuntimeError where it cannot be had.
  CachedKernel get(const kernels::KernelSource& source, const std::optional<DiskCache>& disk);

 private:
  struct Entry {
    std::mutex mutex;
    std::shared_ptr<const Cubin> cubin;
    std::string key;
  };

  std::shared_ptr<Entry> entry(const KernelKey& key);
  CachedKernel find_or_compile(const KernelKey& kernel, const kernels::KernelSource& source,
                               const std::optional<DiskCache>& disk) const;

  Compiler compiler_;
  Headers headers_;
  KernelKeys keys_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Entry>> entries_;
};

}  // namespace wgrad::jit
