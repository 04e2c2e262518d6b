// What a machine offers, as a value that can also be written by hand.
#pragma once

#include <cstdint>
#include <string>

namespace wgrad {

/// What computes.
enum class DeviceKind : std::uint8_t {
  kCpu,
  kCuda,
  kEmulated,  ///< a GPU that the CPU emulates, written by hand; its memory is the host's
};

/// Everything the planner may know of a device; no handles.
struct DeviceSpec {
  DeviceKind kind = DeviceKind::kCpu;
  std::string name;             ///< as the machine calls itself
  int arch = 0;                 ///< CUDA compute capability times ten: 90, 100; 0 on a CPU
  int sm_count = 0;             ///< multiprocessors
  std::int64_t smem_bytes = 0;  ///< shared memory one CTA may use
  std::int64_t l2_bytes = 0;    ///< L2 cache: of the whole GPU, or of one core; 0: not known
  int threads = 1;              ///< CPU threads a run may use, 1 or more
  bool avx512_bf16 = false;     ///< CPU multiplies bf16 pairs natively
  bool amx_bf16 = false;        ///< CPU has bf16 tile multiplication
  int sm_limit = 0;  ///< multiprocessors a launch may use, beside other kernels; 0: all; a
                     ///< CPU's is 0
  bool allow_unverified = false;  ///< the cuda backend may choose kernels that have never run on
                                  ///< such a GPU (SM 10.0 and 10.3); cuda_device() sets it where
                                  ///< WGRAD_ALLOW_UNVERIFIED is 1

  bool operator==(const DeviceSpec&) const = default;
};

/// This machine's CPU. `threads` are the cores this process may run on, fewer
/// under a CPU quota, or what WGRAD_THREADS says.
/// Throws ValueError where that is no number.
DeviceSpec cpu_device();

/// CUDA device `ordinal`. Throws RuntimeError without a driver, ValueError for a bad ordinal.
DeviceSpec cuda_device(int ordinal);

/// Number of CUDA devices; 0 where no driver can be loaded.
int cuda_device_count() noexcept;

}  // namespace wgrad
