// Configurations of the SM90 kernel: which there are, what they take, how they are launched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/sm90/emulated/kernels.hpp"
#include "plan/plan.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/shared/params.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/shared/tensor_map.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::kernels::sm90 {

/// Tokens that an MN-major operand's tensor map can bound (device/wgrad/shared/tensor_map.hpp).
constexpr std::int64_t kMaxTokens = shared::kRaggedTokens;
/// Byte strides that a tensor map holds: of an output or a K-major operand, and of an MN-major one.
constexpr std::int64_t kMaxPitchBytes = (std::int64_t{1} << 40) - 16;
constexpr std::int64_t kMaxMnPitchBytes = (std::int64_t{1} << 34) - 16;
/// Of M, N and T.
constexpr std::int64_t kMaxExtent = shared::kMaxExtent;
/// The kernel counts tiles in 32 bits.
constexpr std::int64_t kMaxTiles = 2147483647;

/// The workspace region of Config::workspace_split.
constexpr std::string_view kPartialSums = "partial sums";

/// One compiled kernel and the launch values that are not compiled in.
struct LaunchConfig {
  shared::Config kernel;
  int raster_m = 1;                            ///< cluster rows of one raster group
  int grid = 1;                                ///< CTAs
  int smem_bytes = 0;                          ///< dynamic shared memory of one CTA
  shared::TokenSplit token_split = {1, 1, 1};  ///< where the kernel splits in the workspace
  bool overlaps = true;  ///< may begin, without touching memory, under the end of the launch before

  bool operator==(const LaunchConfig&) const = default;
};

/// The kernel's words for a problem's.
shared::OperandLayout layout_of(Major major, InputOrder order, std::int64_t extent);
shared::InputType input_type(DType dtype);
shared::OutputType output_type(DType dtype);

/// Configurations for `problem` that its tiling arguments allow, whatever the device.
std::vector<shared::Config> allowed_configs(const Problem& problem);

/// Cluster tiles of all experts, of a configuration of any family; kMaxTiles + 1 stands for any
/// larger number.
template <shared::TileConfig Config>
std::int64_t tile_count(const Config& c, const Problem& p) {
  const std::int64_t each =
      ceil_div(p.m, static_cast<std::int64_t>(c.tile_m) * c.cluster_m) * ceil_div(p.n, c.tile_n);
  return each > kMaxTiles / p.experts ? kMaxTiles + 1 : each * p.experts;
}
/// Dynamic shared memory of one CTA.
std::int64_t smem_bytes(const shared::Config& config);
/// Multiprocessors that a launch may use.
int usable_sms(const DeviceSpec& device);
shared::Sms sms_of(const DeviceSpec& device);

/// The values of a launch that are not compiled in, of a configuration of any family that takes
/// `smem` bytes of shared memory and fits `device`.
template <typename Launch, shared::TileConfig Config>
Launch launch_of(const Config& c, std::int64_t smem, const Problem& p, const DeviceSpec& device) {
  const shared::Sms sms = sms_of(device);
  Launch launch;
  launch.kernel = c;
  launch.raster_m = shared::default_raster_m(c, sms);
  const auto grid = shared::tile_grid(c, static_cast<int>(p.m), static_cast<int>(p.n),
                                      static_cast<int>(p.experts), launch.raster_m);
  launch.grid = static_cast<int>(shared::grid_ctas(c, grid, sms));
  launch.smem_bytes = static_cast<int>(smem);
  launch.overlaps = usable_sms(device) == device.sm_count;
  return launch;
}

bool fits(const shared::Config& config, const Problem& problem, const DeviceSpec& device);
/// Of the allowed ones, those that `device` can run.
std::vector<shared::Config> fitting_configs(const Problem& problem, const DeviceSpec& device);

/// Whether a kernel of `config` computes `problem`: it may take more than the problem needs (any
/// width of an MN-major operand, columns stored one by one).
bool computes(const shared::Config& config, const Problem& problem);
/// Of compiled kernels, those that compute the problem, that its tiling arguments allow and that
/// `device` can run.
std::vector<shared::Config> compiled_configs(const std::vector<CompiledKernel>& kernels,
                                             const Problem& problem, const DeviceSpec& device);
/// What the search chooses from: fitting ones; on an emulated device, compiled ones.
std::vector<shared::Config> offered_configs(const Problem& problem, const DeviceSpec& device);

/// Of a configuration that fits. `parts` and `least_tokens`, a multiple of 64, of an expert, where
/// the kernel splits in the workspace.
LaunchConfig launch_values(const shared::Config& config, const Problem& problem,
                           const DeviceSpec& device, int parts = 1, int least_tokens = 64);
/// Workspace of its launches.
std::vector<plan::WorkspaceRegion> workspace_of(const LaunchConfig& config);

/// "sm90 128x256x64, 4 stages, cluster 2x1, ..."
std::string summary(const LaunchConfig& config);

}  // namespace wgrad::kernels::sm90
