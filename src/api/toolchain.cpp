#include "wgrad/toolchain.hpp"

#include "core/environment.hpp"
#include "jit/disk_cache.hpp"
#include "jit/nvrtc.hpp"
#include "jit/nvrtc_search.hpp"
#include "launch/driver/driver.hpp"
#include "launch/driver/runtime.hpp"
#include "wgrad/errors.hpp"
#ifdef WGRAD_WITH_ONEDNN
#include "cpu/library_version.hpp"
#endif

namespace wgrad {

Toolchain find_toolchain() {
  Toolchain found;
  try {
    found.driver = launch::driver_version(launch::Runtime::instance().api());
  } catch (const RuntimeError& error) {
    found.driver_missing = error.what();
  }
  try {
    const jit::Nvrtc& nvrtc = jit::Nvrtc::instance();
    found.nvrtc = nvrtc.version();
    found.nvrtc_file = nvrtc.file();
  } catch (const RuntimeError& error) {
    found.nvrtc_missing = error.what();
  }
  const auto disk = jit::DiskCache::of(core::read_environment());
  if (disk) found.cache_directory = disk->folder().string();
  if (disk) found.cache_not_used = disk->why_not_used();
#ifdef WGRAD_WITH_ONEDNN
  const cpu::LibraryVersion library = cpu::library_version();
  found.onednn = library.running;
  found.onednn_compiled = library.compiled;
  found.onednn_isa = library.instruction_set;
#endif
  return found;
}

void add_nvrtc_folder(const std::string& folder) {
  jit::add_nvrtc_folder(folder);
}

}  // namespace wgrad
