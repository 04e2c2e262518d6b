// Configurations of the SM 10.0 and 10.3 kernel for block-scaled operands: which there are, what
// they take, how they are launched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/sm100/launch_config.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/sm100_scaled/config.hpp"

namespace wgrad::kernels::sm100_scaled {

using shared::sm100_scaled::Config;

using LaunchConfig = sm100::LaunchConfigOf<Config>;

/// Configurations for `problem`, which is block-scaled, that its tiling arguments allow, whatever
/// the device.
std::vector<Config> allowed_configs(const Problem& problem);

/// Dynamic shared memory of one CTA.
std::int64_t smem_bytes(const Config& config);
bool fits(const Config& config, const Problem& problem, const DeviceSpec& device);
std::vector<Config> fitting_configs(const Problem& problem, const DeviceSpec& device);
/// What the search chooses from: fitting ones; on an emulated device, compiled ones.
std::vector<Config> offered_configs(const Problem& problem, const DeviceSpec& device);

/// Of a configuration that fits.
LaunchConfig launch_values(const Config& config, const Problem& problem, const DeviceSpec& device);

/// "sm100 scaled 128x256x128 e4m3 x e5m2, ..."
std::string summary(const LaunchConfig& config);

}  // namespace wgrad::kernels::sm100_scaled
