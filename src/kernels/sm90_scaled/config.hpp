// Configurations of the SM90 kernel for block-scaled operands: which there are, what they take, how
// they are launched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/sm90_scaled/config.hpp"

namespace wgrad::kernels::sm90_scaled {

/// One compiled kernel and the launch values that are not compiled in.
struct LaunchConfig {
  shared::ScaledConfig kernel;
  int raster_m = 1;      ///< tile rows of one raster group
  int grid = 1;          ///< CTAs
  int smem_bytes = 0;    ///< dynamic shared memory of one CTA
  bool overlaps = true;  ///< may begin, without touching memory, under the end of the launch before

  bool operator==(const LaunchConfig&) const = default;
};

/// The kernel's word for an element dtype: kE4m3, kE5m2 or kE2m1.
shared::ElementType element_type(DType dtype);
/// "e4m3"
std::string element_name(shared::ElementType type);

/// Configurations for `problem`, which is block-scaled, that its tiling arguments allow, whatever
/// the device.
std::vector<shared::ScaledConfig> allowed_configs(const Problem& problem);

/// Dynamic shared memory of one CTA.
std::int64_t smem_bytes(const shared::ScaledConfig& config);
bool fits(const shared::ScaledConfig& config, const Problem& problem, const DeviceSpec& device);
std::vector<shared::ScaledConfig> fitting_configs(const Problem& problem, const DeviceSpec& device);
/// What the search chooses from: fitting ones; on an emulated device, compiled ones.
std::vector<shared::ScaledConfig> offered_configs(const Problem& problem, const DeviceSpec& device);

/// Of a configuration that fits.
LaunchConfig launch_values(const shared::ScaledConfig& config, const Problem& problem,
                           const DeviceSpec& device);

/// "sm90 scaled 128x256x64 e4m3 x e5m2, ..."
std::string summary(const LaunchConfig& config);

}  // namespace wgrad::kernels::sm90_scaled
