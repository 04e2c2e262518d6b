// What a process keeps of CUDA: the driver, its devices' primary contexts, loaded kernels and fault
// records. Nothing of it is ever given back: a captured graph may use it for as long as the process
// lives.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "launch/driver/driver_api.hpp"
#include "launch/fault_records.hpp"
#include "wgrad/device_spec.hpp"

namespace wgrad::launch {

class LoadedKernel;
struct KernelModule;

class Runtime {
 public:
  /// `api` must be complete and initialised.
  explicit Runtime(const DriverApi& api);
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  /// The runtime on this machine's driver, opened at the first call. Throws what open_driver()
  /// does.
  static Runtime& instance();

  const DriverApi& api() const noexcept { return api_; }
  int device_count() const noexcept { return device_count_; }
  /// Whether launches may be programmatic: graphs capture them from a driver of CUDA 12.3 on.
  bool overlaps_launches() const noexcept { return overlaps_launches_; }
  /// Throws ValueError where `device` is none.
  void check_device(int device) const;
  DeviceSpec device_spec(int device) const;
  /// Retained at the first call for a device.
  CuContext primary_context(int device);

  FaultPool& faults() noexcept { return faults_; }

  /// The kernel of `module`, loaded at the first call for its key.
  std::shared_ptr<LoadedKernel> load(const KernelModule& module);

 private:
  int attribute(int attribute, int device) const;

  const DriverApi api_;
  int device_count_ = 0;
  bool overlaps_launches_ = false;
  FaultPool faults_;
  std::mutex mutex_;
  std::vector<CuContext> primary_;
  std::map<std::string, std::shared_ptr<LoadedKernel>> kernels_;
};

}  // namespace wgrad::launch
