// One operator on SM90 devices: from operands to a launch.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "kernels/sm90/config.hpp"
#include "launch/fault_records.hpp"
#include "launch/loaded_kernel.hpp"
#include "launch/runtime.hpp"
#include "launch/tensor_maps.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::launch {

class Sm90Launch {
 public:
  /// Makes `device` ready; -1: the current one, or none where no context is current. Any other
  /// device is made ready by its first launch.
  Sm90Launch(Runtime& runtime, const Problem& problem, const kernels::sm90::LaunchConfig& config,
             std::shared_ptr<LoadedKernel> kernel, bool validate, int device);

  /// Thread-safe; neither allocates device memory nor waits, unless data is validated.
  void launch(const Operands& operands) const;

  std::optional<DeviceFault> fault() const;
  void clear_fault() const;

 private:
  int device_of(const Operands& operands) const;
  void make_ready(int device) const;
  void set_operands(shared::KernelParams& params, const Operands& operands, int device) const;
  void set_maps(shared::KernelParams& params, const Operands& operands) const;
  void start(shared::KernelParams& params, CuStream stream) const;

  /// Memo of pure functions, and records that appear once: no launch sees another's state.
  struct Shared {
    MapMemo a, b, out;
    std::once_flag once;
    std::unique_ptr<FaultRecords> owner;
    std::atomic<FaultRecords*> records = nullptr;
  };

  Runtime& runtime_;
  Problem problem_;
  kernels::sm90::LaunchConfig config_;
  std::shared_ptr<LoadedKernel> kernel_;
  bool validate_;
  shared::KernelParams static_params_ = {};
  std::unique_ptr<Shared> shared_;
};

}  // namespace wgrad::launch
