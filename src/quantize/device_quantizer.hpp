// Quantisation on CUDA devices: from a call to its launches.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "launch/driver/loaded_kernel.hpp"
#include "launch/driver/runtime.hpp"
#include "launch/fault_records.hpp"
#include "quantize/images.hpp"
#include "wgrad/device_quantize.hpp"

namespace wgrad::quantize {

/// One for a process. Thread-safe.
class DeviceQuantizer {
 public:
  using Load = std::function<std::shared_ptr<launch::LoadedKernel>(const kernels::KernelSource&)>;

  /// `load` compiles what is not compiled yet.
  DeviceQuantizer(launch::Runtime& runtime, Load load)
      : runtime_(runtime), load_(std::move(load)) {}

  void run(const DeviceQuantization& call, bool validate);

  std::optional<DeviceFault> fault() const;
  void clear_fault() const;

 private:
  std::shared_ptr<launch::LoadedKernel> kernel(const KernelId& id);
  launch::CuAddress fault_record(int device);
  int device_of(const DeviceQuantization& call) const;
  void start(Step& step, int device, launch::CuStream stream);

  launch::Runtime& runtime_;
  Load load_;
  mutable std::mutex mutex_;
  std::vector<std::pair<KernelId, std::shared_ptr<launch::LoadedKernel>>> kernels_;
  std::unique_ptr<launch::FaultRecords> records_;
};

}  // namespace wgrad::quantize
