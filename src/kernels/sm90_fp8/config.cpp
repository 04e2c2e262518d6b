#include "kernels/sm90_fp8/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90_fp8/emulated/kernels.hpp"
#include "wgrad/sm90_fp8/smem.hpp"

namespace wgrad::kernels::sm90_fp8 {
namespace {

using shared::Fp8Config;

constexpr int kTileWidths[] = {256, 128, 64};

shared::ElementType element(DType dtype) {
  return dtype == DType::kE5m2 ? shared::ElementType::kE5m2 : shared::ElementType::kE4m3;
}

const char* word(shared::ElementType type) {
  return type == shared::ElementType::kE5m2 ? "e5m2" : "e4m3";
}

Fp8Config kernel_config(const Problem& p, int tile_n, int cluster_m) {
  Fp8Config c;
  c.input = shared::InputType::kFp8;
  c.tile_k = shared::kSwizzleBytes;
  c.tile_n = tile_n;
  c.cluster_m = cluster_m;
  c.element_a = element(p.a_dtype);
  c.element_b = element(p.b_dtype);
  c.promote = !p.fast_accumulation;
  c.a = sm90::layout_of(p.a_major, p.input_order, p.m);
  c.b = sm90::layout_of(p.b_major, p.input_order, p.n);
  c.output = sm90::output_type(p.wgrad_dtype);
  c.accumulate = p.accumulate;
  c.output_mode = p.output_mode == OutputMode::kDense ? shared::OutputMode::kDense
                                                      : shared::OutputMode::kDiscrete;
  c.partial_columns = shared::needs_partial_columns(c.output, p.n);
  c.ring_slots = tile_n == 256 ? 2 : 3;
  c.stages = shared::max_stages(c);
  return c;
}

/// What mma_tiler_mn and cluster_shape_mn leave open. A tile M of 256 is a pair of 128-row CTAs.
bool tiling_allows(const Tiling& t, int tile_n, int cluster_m) {
  const bool free_tile = t.tile_m == 256 && t.tile_n == 256;
  if (!free_tile && t.tile_n != tile_n) return false;
  if (t.cluster_m != 0) return t.cluster_m == cluster_m && t.cluster_n == 1;
  return free_tile || cluster_m == t.tile_m / 128;
}

bool fits(const Fp8Config& c, const Problem& p, const DeviceSpec& device) {
  return sm90::usable_sms(device) >= shared::cluster_ctas(c) &&
         smem_bytes(c) <= device.smem_bytes && sm90::tile_count(c, p) <= sm90::kMaxTiles;
}

/// Any kernel may store columns one by one.
bool computes(const Fp8Config& kernel, const Problem& p) {
  Fp8Config wanted = kernel_config(p, kernel.tile_n, kernel.cluster_m);
  wanted.partial_columns = wanted.partial_columns || kernel.partial_columns;
  return same_fields(kernel, wanted, shared::FieldOrigin::kProblem);
}

}  // namespace

std::vector<Fp8Config> allowed_configs(const Problem& p) {
  std::vector<Fp8Config> out;
  for (const int tile_n : kTileWidths) {
    for (const int cluster_m : {1, 2}) {
      const Fp8Config c = kernel_config(p, tile_n, cluster_m);
      if (tiling_allows(p.tiling, tile_n, cluster_m) && shared::is_valid(c)) out.push_back(c);
    }
  }
  return out;
}

std::int64_t smem_bytes(const Fp8Config& c) {
  return std::int64_t{shared::smem_table(c).total};
}

std::vector<Fp8Config> fitting_configs(const Problem& p, const DeviceSpec& device) {
  auto out = allowed_configs(p);
  std::erase_if(out, [&](const Fp8Config& c) { return !fits(c, p, device); });
  return out;
}

std::vector<Fp8Config> offered_configs(const Problem& p, const DeviceSpec& device) {
  if (device.kind != DeviceKind::kEmulated) return fitting_configs(p, device);
  std::vector<Fp8Config> out;
  for (const CompiledKernel& compiled : emulated_kernels()) {
    const Fp8Config& c = compiled.config;
    const bool wanted = tiling_allows(p.tiling, c.tile_n, c.cluster_m) && computes(c, p);
    if (wanted && fits(c, p, device)) out.push_back(c);
  }
  return out;
}

LaunchConfig launch_values(const Fp8Config& c, const Problem& p, const DeviceSpec& device) {
  return sm90::launch_of<LaunchConfig>(c, smem_bytes(c), p, device);
}

std::string summary(const LaunchConfig& config) {
  const Fp8Config& c = config.kernel;
  return fmt::format(
      "sm90 fp8 {}x{}x{} {} x {}, {}, {} stages, cluster {}x1, ring {}, raster {}, grid {}, {} KiB",
      c.tile_m, c.tile_n, c.tile_k, word(c.element_a), word(c.element_b),
      c.promote ? "promoted every 128 tokens" : "short sums", c.stages, c.cluster_m, c.ring_slots,
      config.raster_m, config.grid, config.smem_bytes / 1024);
}

}  // namespace wgrad::kernels::sm90_fp8
