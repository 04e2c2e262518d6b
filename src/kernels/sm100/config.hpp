// Configurations of the SM 10.0 and 10.3 kernel for 16-bit operands: which there are, what they
// take, how they are launched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/sm100/emulated/kernels.hpp"
#include "kernels/sm100/launch_config.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/sm100/config.hpp"

namespace wgrad::kernels::sm100 {

using shared::sm100::Config;

using LaunchConfig = LaunchConfigOf<Config>;

/// Configurations for `problem` that its tiling arguments allow, whatever the device.
std::vector<Config> allowed_configs(const Problem& problem);

/// Dynamic shared memory of one CTA.
std::int64_t smem_bytes(const Config& config);
bool fits(const Config& config, const Problem& problem, const DeviceSpec& device);
std::vector<Config> fitting_configs(const Problem& problem, const DeviceSpec& device);

/// Whether a kernel of `config` computes `problem`: it may take more than the problem needs (any
/// width of an MN-major operand, columns stored one by one).
bool computes(const Config& config, const Problem& problem);
/// Those of `kernels` that compute `problem` on `device`.
std::vector<Config> compiled_configs(const std::vector<CompiledKernel>& kernels,
                                     const Problem& problem, const DeviceSpec& device);
/// What the search chooses from: fitting ones; on an emulated device, compiled ones.
std::vector<Config> offered_configs(const Problem& problem, const DeviceSpec& device);

/// Of a configuration that fits.
LaunchConfig launch_values(const Config& config, const Problem& problem, const DeviceSpec& device);

/// "sm100 128x256x64, 4 stages, ..."
std::string summary(const LaunchConfig& config);

}  // namespace wgrad::kernels::sm100
