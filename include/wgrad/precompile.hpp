// Kernels compiled ahead of time, so that no later process has to: a cluster's nodes share the
// cache.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"

namespace wgrad {

/// Where precompile() found a kernel.
enum class KernelOrigin : std::uint8_t { kMemory, kDisk, kCompiled };

/// One kernel, and what it takes of a multiprocessor. Registers and spills are the compiler's
/// counts, 0 where it reported none.
struct PrecompiledKernel {
  std::string plan;  ///< the plan in one line
  KernelOrigin origin = KernelOrigin::kCompiled;
  std::string path;             ///< the entry on disk; empty where the disk cache took none
  std::string not_kept;         ///< then why, in a sentence
  double seconds = 0;           ///< that it took to find or to compile
  int registers = 0;            ///< 32-bit ones of a thread at entry
  int spill_bytes = 0;          ///< that a thread stores and loads because registers do not suffice
  std::int64_t smem_bytes = 0;  ///< shared memory of one CTA
  std::string compiler_remarks;  ///< what the compiler said besides
};

/// What to compile, and whom to tell.
struct PrecompileOptions {
  /// Compile every candidate of a problem, so that runs that plan for another token count or
  /// another number of multiprocessors find theirs as well; else the chosen one only.
  bool every_candidate = false;
  std::function<void(const PrecompiledKernel&)> progress = {};  ///< called after each kernel; what
                                                                ///< it throws ends precompile()
};

/// Compiles the kernels that prepare() would need on such a CUDA device and keeps them in the disk
/// cache (WGRAD_CACHE_DIR, XDG_CACHE_HOME, ~/.cache/wgrad). Needs NVRTC, but no GPU and no driver.
/// One entry a distinct kernel. Throws what prepare() throws for a problem that `device` cannot
/// run.
std::vector<PrecompiledKernel> precompile(std::span<const Problem> problems,
                                          const DeviceSpec& device,
                                          const PrecompileOptions& options = {});

/// A device of compute capability `arch` / 10 as data centres have it, for planning without one.
/// 90, 100 and 103; it allows kernels that never ran on such a GPU (DeviceSpec::allow_unverified).
/// Throws RuntimeError for an architecture without kernels.
DeviceSpec typical_cuda_device(int arch);

}  // namespace wgrad
