#include "kernels/sm100_scaled/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/sm100_scaled/emulated/kernels.hpp"
#include "kernels/sm90/config.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "wgrad/sm100_scaled/smem.hpp"

namespace wgrad::kernels::sm100_scaled {
namespace {

using shared::FieldOrigin;
using shared::OperandLayout;
using shared::sm100_scaled::CodeWidth;

// What a planner chooses; the rest follows from the problem.
constexpr int kTileColumns[] = {256, 128};

OperandLayout layout_of(Major major, InputOrder order) {
  if (major == Major::kMn) return OperandLayout::kMnMajor;
  return order == InputOrder::kTensorRagged ? OperandLayout::kKMajorRagged : OperandLayout::kKMajor;
}

void set_format(Config& c, const Problem& p) {
  c.element_a = sm90_scaled::element_type(p.a_dtype);
  c.element_b = sm90_scaled::element_type(p.b_dtype);
  c.input = p.a_dtype == DType::kE2m1 ? CodeWidth::kNibble : CodeWidth::kByte;
  c.tile_k = shared::kSwizzleBytes * 8 / bits_of(c.input);
  c.scale = p.scales->dtype == DType::kE8m0 ? shared::ScaleType::kE8m0 : shared::ScaleType::kE4m3;
  c.vec_size = p.scales->vec_size;
  const bool swizzled = p.scales->layout == ScaleLayout::kSwizzled;
  c.storage = swizzled ? shared::ScaleStorage::kAtoms : shared::ScaleStorage::kCompact;
  c.global_scale = p.scales->global_scale;
}

Config kernel_config(const Problem& p, int tile_n) {
  Config c;
  c.tile_n = tile_n;
  set_format(c, p);
  c.a = layout_of(p.a_major, p.input_order);
  c.b = layout_of(p.b_major, p.input_order);
  c.output = sm90::output_type(p.wgrad_dtype);
  c.accumulate = p.accumulate;
  if (p.output_mode == OutputMode::kDiscrete) c.output_mode = shared::OutputMode::kDiscrete;
  c.partial_columns = shared::needs_partial_columns(c.output, p.n);
  c.stages = max_stages(c);
  // What the stages leave over goes to the ring.
  for (Config more = c; ++more.ring_slots <= 4 && smem_bytes(more) <= shared::kMaxSharedBytes;)
    c = more;
  return c;
}

/// What mma_tiler_mn and cluster_shape_mn leave open.
bool tiling_allows(const Tiling& t, int tile_n) {
  if (t.cluster_m != 0 && (t.cluster_m != 1 || t.cluster_n != 1)) return false;
  return (t.tile_m == 256 && t.tile_n == 256) || (t.tile_m == 128 && t.tile_n == tile_n);
}

/// Any kernel may store columns one by one.
bool computes(const Config& kernel, Config wanted) {
  wanted.partial_columns = wanted.partial_columns || kernel.partial_columns;
  return same_fields(kernel, wanted, FieldOrigin::kProblem, FieldOrigin::kChoice);
}

}  // namespace

std::vector<Config> allowed_configs(const Problem& p) {
  std::vector<Config> out;
  for (const int tile_n : kTileColumns) {
    const Config c = kernel_config(p, tile_n);
    if (tiling_allows(p.tiling, tile_n) && is_valid(c)) out.push_back(c);
  }
  return out;
}

std::int64_t smem_bytes(const Config& c) {
  return static_cast<std::int64_t>(smem_table(c).total);
}

bool fits(const Config& c, const Problem& p, const DeviceSpec& device) {
  const bool placed = smem_bytes(c) <= device.smem_bytes && sm90::usable_sms(device) > 0;
  return placed && sm90::tile_count(c, p) <= sm90::kMaxTiles;
}

std::vector<Config> fitting_configs(const Problem& p, const DeviceSpec& device) {
  std::vector<Config> out = allowed_configs(p);
  std::erase_if(out, [&](const Config& c) { return !fits(c, p, device); });
  return out;
}

std::vector<Config> offered_configs(const Problem& p, const DeviceSpec& device) {
  std::vector<Config> out = fitting_configs(p, device);
  if (device.kind != DeviceKind::kEmulated) return out;
  const std::vector<Config> wanted = allowed_configs(p);
  out.clear();
  for (const CompiledKernel& kernel : emulated_kernels()) {
    const auto is_wanted = [&](const Config& c) { return computes(kernel.config, c); };
    if (std::any_of(wanted.begin(), wanted.end(), is_wanted) && fits(kernel.config, p, device))
      out.push_back(kernel.config);
  }
  return out;
}

LaunchConfig launch_values(const Config& c, const Problem& p, const DeviceSpec& device) {
  auto launch = sm90::launch_of<LaunchConfig>(c, smem_bytes(c), p, device);
  launch.arch = device.arch;
  return launch;
}

std::string summary(const LaunchConfig& config) {
  const Config& c = config.kernel;
  return fmt::format(
      "sm100 scaled {}x{}x{} {} x {}, {} stages, {} accumulator{}, ring {}, raster {}, grid {}, {} "
      "KiB, not run on silicon",
      c.tile_m, c.tile_n, c.tile_k, sm90_scaled::element_name(c.element_a),
      sm90_scaled::element_name(c.element_b), c.stages, accumulators(c),
      accumulators(c) == 1 ? "" : "s", c.ring_slots, config.raster_m, config.grid,
      config.smem_bytes / 1024);
}

}  // namespace wgrad::kernels::sm100_scaled
