// A kernel in the driver's hands: one for all devices of its architecture.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "launch/claim_slots.hpp"
#include "launch/driver/runtime.hpp"

namespace wgrad::launch {

struct KernelModule {
  std::string key;    ///< of the kernel cache: ends in the compiler's version
  std::string cubin;  ///< an ELF file for devices of `arch`
  std::string entry;
  int arch = 0;
  int smem_bytes = 0;  ///< dynamic shared memory of a launch
};

class LoadedKernel {
 public:
  /// Throws RuntimeError where the driver takes no such machine code.
  LoadedKernel(Runtime& runtime, KernelModule module);

  /// Loads the code onto `device`, so that a launch there loads nothing. Cheap when done before.
  void make_ready(int device);
  bool is_ready(int device) const noexcept {
    return ready_[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
  }

  /// Counters for a launch into `stream`, on a device made ready, while `context` is current; 0:
  /// none are left, or they belong to another context.
  CuAddress claims(int device, CuStream stream, CuContext context);

  /// What cuLaunchKernelEx takes.
  CuFunction function() const noexcept { return reinterpret_cast<CuFunction>(kernel_); }

 private:
  /// Slot 0 on each device, and the context whose memory it is.
  struct Counters {
    CuAddress first = 0;
    CuContext context = nullptr;
  };

  void check_load(CuResult result) const;
  Counters find_counters(CuContext context) const;

  Runtime& runtime_;
  KernelModule module_;
  CuLibrary library_ = nullptr;
  CuKernel kernel_ = nullptr;
  ClaimSlots slots_;
  std::vector<Counters> claims_;  ///< by device
  std::mutex mutex_;
  std::unique_ptr<std::atomic<bool>[]> ready_;
};

}  // namespace wgrad::launch
