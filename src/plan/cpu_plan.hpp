// How the CPU backend cuts a problem into library matmuls.
#pragma once

#include <cstdint>
#include <string>

#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::plan {

/// One task computes a (tile_m, tile_n) block of one expert's output on one thread, `tile_k` tokens
/// at a time where operands must be decoded or converted first.
struct CpuConfig {
  std::int64_t tile_m = 0;
  std::int64_t tile_n = 0;
  std::int64_t tile_k = 0;
  int threads = 1;
  bool native_bf16 =
      false;  ///< the library multiplies bf16 here; else tiles are widened to float32

  bool operator==(const CpuConfig&) const = default;
};

/// The best configuration for `problem` on a CPU `device`.
CpuConfig plan_cpu(const Problem& problem, const DeviceSpec& device);

std::string summary(const CpuConfig& config);

}  // namespace wgrad::plan
