// Where a command computes: a device, and the memory that its data lives in.
#pragma once

#include <memory>
#include <string>

#include "harness/memory/device.hpp"
#include "wgrad/device_spec.hpp"

namespace wgrad::harness {

struct PlaceChoice {
  std::string backend;            ///< "cuda", "emu", or any that computes on the CPU
  int threads = 0;                ///< of a CPU; 0: all
  int gpu = 0;                    ///< ordinal of the CUDA device
  int sms = 0;                    ///< multiprocessors of the emulated GPU; 0: two
  std::string emulated = "sm90";  ///< gpu_by_name: what is emulated
};

struct Place {
  DeviceSpec device;
  std::shared_ptr<Device> memory;
};

/// The device that `--backend emu` computes on, with `sms` multiprocessors; 0: two. `name`: of
/// gpu_by_name.
DeviceSpec emulated_device(int sms, const std::string& name = "sm90");

/// Throws RuntimeError without a CUDA driver, ValueError for a CUDA device that is not there.
Place place_of(const PlaceChoice& choice);

}  // namespace wgrad::harness
