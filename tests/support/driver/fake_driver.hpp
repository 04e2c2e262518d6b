// A CUDA driver that only writes down what it is asked: two Hopper devices and an Ampere one,
// contexts per device, pinned memory, and "device memory" that is host memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "launch/driver/driver_api.hpp"

namespace wgrad::launch {

/// One launch, with what its pointers pointed at.
struct RecordedLaunch {
  CuLaunchConfig config;
  unsigned cluster = 1;
  bool programmatic = false;
  CuFunction function = nullptr;
  shared::KernelParams params = {};
  const void* parameters = nullptr;  ///< all of them, while the launch runs
  int device = -1;                   ///< of the context that was current
};

struct RecordedMap {
  int type = 0;
  std::uint64_t address = 0;
  std::vector<std::uint64_t> dims, strides;
  std::vector<std::uint32_t> box;
  int swizzle = 0;
};

/// At most one lives at a time; its table's functions find it.
class FakeDriver {
 public:
  FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver();

  const DriverApi& api() const { return api_; }
  /// Calls of functions by name, in order.
  std::vector<std::string> calls() const;
  int count(const std::string& call) const;
  void forget_calls();

  /// A context of `device`, current on this thread as long as nothing else is pushed.
  void make_current(int device);
  /// The same with a context that is not the primary one.
  void make_another_context_current(int device);
  int current_device() const;
  std::size_t context_depth() const;
  /// A stream of a context of `device`.
  CuStream stream(int device);
  /// Memory that pointer_attribute() knows to be on `device`.
  void* memory(int device, std::size_t bytes);

  /// Of the loaded kernel's global on `device`.
  static CuAddress claims(int device) {
    return 0x900000000 + 0x100000 * static_cast<CuAddress>(device);
  }

  int capture_status = 0;
  int version = 12040;
  std::vector<int> archs = {90, 90, 80};
  /// Makes the maps that kernels are launched with; empty: maps that hold their address alone.
  std::function<shared::TensorMap(const RecordedMap&)> encode;
  /// Runs a launch that was written down; empty: nothing computes.
  std::function<void(const RecordedLaunch&)> run;
  std::map<std::string, CuResult> failures;  ///< what a function returns instead of working
  std::vector<RecordedLaunch> launches;
  std::vector<RecordedMap> maps;
  std::vector<std::pair<int, int>> smem_limits;  ///< device, bytes

 private:
  friend struct FakeFunctions;
  struct Block {
    std::unique_ptr<std::max_align_t[]> bytes;
    std::size_t size;
    int device;
  };

  CuResult record(const char* call);

  DriverApi api_;
  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
  std::vector<Block> blocks_;
};

}  // namespace wgrad::launch
