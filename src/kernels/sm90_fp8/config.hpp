// Configurations of the SM90 kernel that multiplies FP8: which there are, how they are launched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/sm90_fp8/config.hpp"

namespace wgrad::kernels::sm90_fp8 {

/// One compiled kernel and the launch values that are not compiled in.
struct LaunchConfig {
  shared::Fp8Config kernel;
  int raster_m = 1;      ///< cluster rows of one raster group
  int grid = 1;          ///< CTAs
  int smem_bytes = 0;    ///< dynamic shared memory of one CTA
  bool overlaps = true;  ///< may begin, without touching memory, under the end of the launch before

  bool operator==(const LaunchConfig&) const = default;
};

/// Configurations for `problem`, which is FP8 rowwise, that its tiling arguments allow.
std::vector<shared::Fp8Config> allowed_configs(const Problem& problem);

std::int64_t smem_bytes(const shared::Fp8Config& config);
/// Of the allowed ones, those that `device` can run.
std::vector<shared::Fp8Config> fitting_configs(const Problem& problem, const DeviceSpec& device);
/// What the search chooses from: fitting ones; on an emulated device, compiled ones.
std::vector<shared::Fp8Config> offered_configs(const Problem& problem, const DeviceSpec& device);

/// Of a configuration that fits.
LaunchConfig launch_values(const shared::Fp8Config& config, const Problem& problem,
                           const DeviceSpec& device);

/// "sm90 fp8 128x256x128 e4m3 x e4m3, ..."
std::string summary(const LaunchConfig& config);

}  // namespace wgrad::kernels::sm90_fp8
