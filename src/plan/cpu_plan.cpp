#include "plan/cpu_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/counted.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::plan {
namespace {

/// Equal tiles of at most `most`, a multiple of 16 long: no thin rest at the edge.
std::int64_t even_tile(std::int64_t extent, std::int64_t most) {
  const std::int64_t tiles = ceil_div(extent, most);
  return std::min(round_up(ceil_div(extent, tiles), 16), most);
}

/// Lines a power of two apart share few cache sets; 64 bytes more spread them over all.
std::int64_t padded_ld(std::int64_t floats) {
  constexpr std::int64_t kPerLine = 64 / 4;
  return round_up(floats, kPerLine) + kPerLine;
}

constexpr std::int64_t kSmallTile = 256;
constexpr std::int64_t kDeepCall = 64;

std::int64_t l2_of(const DeviceSpec& device) {
  constexpr std::int64_t kUsualL2 = 512 << 10;
  return device.l2_bytes > 0 ? device.l2_bytes : kUsualL2;
}

/// Native multiplication is so quick that sums must not leave the second-level cache.
std::int64_t large_tile(bool native, std::int64_t l2) {
  constexpr std::int64_t kRoomForLargeSums = 2 << 20;
  if (!native) return 384;
  return l2 >= kRoomForLargeSums ? 512 : kSmallTile;
}

/// Every operand element is decoded once for each tile that needs it and takes part in as many
/// multiplications as the tile is wide: wide tiles make decoding cheap. An output too small for
/// kTilesPerExpert of them gets narrower ones, so that a single expert still feeds several threads.
std::int64_t widest_tile(const Problem& p, std::int64_t large) {
  constexpr std::int64_t kTilesPerExpert = 8;
  const std::int64_t tiles = ceil_div(p.m, large) * ceil_div(p.n, large);
  return tiles >= kTilesPerExpert ? large : kSmallTile;
}

/// As deep as leaves both packed tiles and the sums in three quarters of the second-level cache;
/// deeper tiles pass over the sums less often.
std::int64_t native_depth(const CpuConfig& c, std::int64_t l2) {
  return (l2 * 3 / 4 - c.tile_m * c.tile_n * 4) / ((c.tile_m + c.tile_n) * 2);
}

/// As deep as leaves one float32 operand tile in the second-level cache while the library packs it.
std::int64_t widened_depth(std::int64_t widest, std::int64_t l2) {
  return l2 / (widest * 4);
}

}  // namespace

CpuConfig plan_cpu(const Problem& p, const DeviceSpec& device) {
  CpuConfig config;
  // A float32 scale factor leaves no bfloat16 value.
  config.native_bf16 =
      (device.avx512_bf16 || device.amx_bf16) && p.a_dtype != DType::kF16 && !is_fp8_by_rows(p);
  const std::int64_t l2 = l2_of(device);
  const std::int64_t large = large_tile(config.native_bf16, l2);
  const std::int64_t widest = widest_tile(p, large);
  config.tile_m = even_tile(p.m, config.native_bf16 ? large : widest);
  config.tile_n = even_tile(p.n, widest);
  config.call_m = even_tile(config.tile_m, config.native_bf16 ? kSmallTile : widest);
  config.deep_call_m =
      even_tile(config.tile_m, config.native_bf16 ? kDeepCall : ceil_div(widest, 2));
  const std::int64_t depth =
      config.native_bf16 ? native_depth(config, l2) : widened_depth(widest, l2);
  const std::int64_t unit = is_fp8_by_rows(p) ? 128 : 64;  // tiles begin with a scale factor
  config.tile_k = std::clamp<std::int64_t>(depth / unit * unit, 128, 512);
  config.threads = std::max(device.threads, 1);
  return config;
}

std::int64_t call_rows(const CpuConfig& c, std::int64_t tokens) {
  return tokens < c.tile_k ? c.call_m : c.deep_call_m;
}

CpuScratch scratch(const CpuConfig& c, const Problem& p) {
  CpuScratch s;
  if (c.native_bf16) {
    s.a_bytes = c.tile_m * c.tile_k * 2;
    s.b_bytes = round_up(c.tile_n, kPackedColumns) * c.tile_k * 2;
    s.c_bytes = c.tile_m * c.tile_n * 4;
    return s;
  }
  const auto operand = [&](Major major, std::int64_t rows, std::int64_t& ld) {
    ld = padded_ld(major == Major::kK ? c.tile_k : rows);
    return (major == Major::kK ? rows : c.tile_k) * ld * 4;
  };
  s.a_bytes = operand(p.a_major, c.tile_m, s.a_ld);
  s.b_bytes = operand(p.b_major, c.tile_n, s.b_ld);
  s.c_ld = padded_ld(c.tile_n);
  s.c_bytes = c.tile_m * s.c_ld * 4;
  return s;
}

std::string summary(const CpuConfig& c, const Problem& p) {
  return fmt::format("cpu tile {}x{}x{}, {}, {}, {} KiB scratch a thread", c.tile_m, c.tile_n,
                     c.tile_k, core::counted(c.threads, "thread"),
                     c.native_bf16 ? "bf16 matmul" : "widened to float32",
                     ceil_div(scratch(c, p).total_bytes(), 1024));
}

}  // namespace wgrad::plan
