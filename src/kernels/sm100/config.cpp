#include "kernels/sm100/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/sm100/emulated/kernels.hpp"
#include "kernels/sm90/config.hpp"
#include "wgrad/sm100/smem.hpp"

namespace wgrad::kernels::sm100 {
namespace {

/// What a planner chooses; the rest follows from the problem.
struct Choice {
  int tile_n;
  int cluster_m;
};
constexpr Choice kChoices[] = {{256, 2}, {192, 2}, {128, 2}, {64, 2},
                               {256, 1}, {192, 1}, {128, 1}, {64, 1}};

Config kernel_config(const Problem& p, const Choice& choice) {
  Config c;
  c.tile_n = choice.tile_n;
  c.cluster_m = choice.cluster_m;
  c.input = sm90::input_type(p.a_dtype);
  c.output = sm90::output_type(p.wgrad_dtype);
  c.a = sm90::layout_of(p.a_major, p.input_order, p.m);
  c.b = sm90::layout_of(p.b_major, p.input_order, p.n);
  c.output_mode = p.output_mode == OutputMode::kDiscrete ? shared::OutputMode::kDiscrete
                                                         : shared::OutputMode::kDense;
  c.accumulate = p.accumulate;
  c.partial_columns = shared::needs_partial_columns(c.output, p.n);
  c.stages = max_stages(c);
  // What the stages leave over goes to the ring.
  for (Config more = c; ++more.ring_slots <= 4 && smem_bytes(more) <= shared::kMaxSharedBytes;)
    c = more;
  return c;
}

/// What mma_tiler_mn and cluster_shape_mn leave open; a tile M of 256 is a pair of CTAs.
bool tiling_allows(const Tiling& t, const Choice& choice) {
  const bool free_tile = t.tile_m == 256 && t.tile_n == 256;
  if (!free_tile && t.tile_n != choice.tile_n) return false;
  if (!free_tile && t.tile_m != 128 * choice.cluster_m) return false;
  return t.cluster_m == 0 || (t.cluster_m == choice.cluster_m && t.cluster_n == 1);
}

}  // namespace

std::vector<Config> allowed_configs(const Problem& p) {
  std::vector<Config> out;
  for (const Choice& choice : kChoices) {
    if (!tiling_allows(p.tiling, choice)) continue;
    const Config c = kernel_config(p, choice);
    if (is_valid(c)) out.push_back(c);
  }
  return out;
}

std::int64_t smem_bytes(const Config& c) {
  return static_cast<std::int64_t>(smem_table(c).total);
}

bool fits(const Config& c, const Problem& p, const DeviceSpec& device) {
  return smem_bytes(c) <= device.smem_bytes && sm90::tile_count(c, p) <= sm90::kMaxTiles &&
         shared::cluster_ctas(c) <= sm90::usable_sms(device);
}

std::vector<Config> fitting_configs(const Problem& p, const DeviceSpec& device) {
  std::vector<Config> out = allowed_configs(p);
  std::erase_if(out, [&](const Config& c) { return !fits(c, p, device); });
  return out;
}

bool computes(const Config& c, const Problem& p) {
  const Config want = kernel_config(p, {c.tile_n, c.cluster_m});
  const auto loads = [](shared::OperandLayout has, shared::OperandLayout wanted) {
    return has == wanted || (has == shared::OperandLayout::kMnMajor && shared::is_mn_major(wanted));
  };
  return !p.scales && c.input == want.input && c.output == want.output && loads(c.a, want.a) &&
         loads(c.b, want.b) && c.output_mode == want.output_mode &&
         c.accumulate == want.accumulate && c.partial_columns >= want.partial_columns;
}

std::vector<Config> compiled_configs(const std::vector<CompiledKernel>& kernels, const Problem& p,
                                     const DeviceSpec& device) {
  std::vector<Config> out;
  for (const CompiledKernel& kernel : kernels) {
    const Config& c = kernel.config;
    if (tiling_allows(p.tiling, {c.tile_n, c.cluster_m}) && computes(c, p) && fits(c, p, device))
      out.push_back(c);
  }
  return out;
}

std::vector<Config> offered_configs(const Problem& p, const DeviceSpec& device) {
  return device.kind == DeviceKind::kEmulated ? compiled_configs(emulated_kernels(), p, device)
                                              : fitting_configs(p, device);
}

LaunchConfig launch_values(const Config& c, const Problem& p, const DeviceSpec& device) {
  LaunchConfig launch = sm90::launch_of<LaunchConfig>(c, smem_bytes(c), p, device);
  launch.arch = device.arch;
  return launch;
}

std::string summary(const LaunchConfig& config) {
  const Config& c = config.kernel;
  return fmt::format(
      "sm100 {}x{}x{}{}, {} stages, {} accumulators, ring {}, raster {}, grid {}, {} KiB, not run "
      "on "
      "silicon",
      c.tile_m * c.cluster_m, c.tile_n, c.tile_k, c.cluster_m == 2 ? " by a pair" : "", c.stages,
      shared::sm100::kAccumulators, c.ring_slots, config.raster_m, config.grid,
      config.smem_bytes / 1024);
}

}  // namespace wgrad::kernels::sm100
