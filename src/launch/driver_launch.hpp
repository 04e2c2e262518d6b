// One operator on CUDA devices: from operands to a launch of its family's image.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "kernels/launch_image.hpp"
#include "launch/driver/loaded_kernel.hpp"
#include "launch/driver/runtime.hpp"
#include "launch/fault_records.hpp"
#include "launch/tensor_maps.hpp"
#include "plan/plan.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::launch {

class DriverLaunch {
 public:
  /// Makes `device` ready; -1: the current one, or none where no context is current. Any other
  /// device is made ready by its first launch. `kernel` was compiled from the plan's source.
  DriverLaunch(Runtime& runtime, const Problem& problem, const plan::Plan& plan,
               std::shared_ptr<LoadedKernel> kernel, bool validate, int device);

  /// Thread-safe; neither allocates device memory nor waits, unless data is validated.
  void launch(const Operands& operands) const;

  std::optional<DeviceFault> fault() const;
  void clear_fault() const;

 private:
  int device_of(const Operands& operands) const;
  void make_ready(int device) const;
  void set_maps(kernels::LaunchImage& image) const;

  /// Memo of pure functions, and records that appear once: no launch sees another's state.
  struct Shared {
    explicit Shared(std::size_t map_count) : maps(std::make_unique<MapMemo[]>(map_count)) {}

    std::unique_ptr<MapMemo[]> maps;  ///< by the image's slots
    std::once_flag once;
    std::unique_ptr<FaultRecords> owner;
    std::atomic<FaultRecords*> records = nullptr;
  };

  Runtime& runtime_;
  Problem problem_;
  plan::Plan plan_;
  std::shared_ptr<LoadedKernel> kernel_;
  bool validate_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace wgrad::launch
