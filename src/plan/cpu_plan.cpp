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

std::int64_t l2_of(const DeviceSpec& device) {
  constexpr std::int64_t kUsualL2 = 512 << 10;
  return device.l2_bytes > 0 ? device.l2_bytes : kUsualL2;
}

/// Every operand element is decoded once for each tile that needs it and takes part in as many
/// multiplications as the tile is wide: wide tiles make decoding cheap. An output too small for
/// kTilesPerExpert of them gets smaller ones, so that a single expert still feeds several threads.
/// Native multiplication is so quick that sums must not leave the second-level cache.
std::int64_t widest_tile(const Problem& p, bool native, std::int64_t l2) {
  constexpr std::int64_t kSmall = 256;
  constexpr std::int64_t kTilesPerExpert = 8;
  constexpr std::int64_t kRoomForLargeSums = 2 << 20;
  const std::int64_t large = !native ? 384 : l2 >= kRoomForLargeSums ? 512 : kSmall;
  const std::int64_t tiles = ceil_div(p.m, large) * ceil_div(p.n, large);
  return tiles >= kTilesPerExpert ? large : kSmall;
}

/// As deep as leaves one float32 operand tile in the second-level cache while the library packs it,
/// or both packed tiles and the sums in three quarters of it; deeper tiles pass over the sums less
/// often.
std::int64_t tile_depth(std::int64_t tile, bool native, std::int64_t l2) {
  const std::int64_t depth =
      native ? (l2 * 3 / 4 - tile * tile * 4) / (2 * tile * 2) : l2 / (tile * 4);
  return std::clamp<std::int64_t>(depth / 64 * 64, 128, 512);
}

/// A single expert may have all the tokens: where it makes few tiles, threads share them by halves.
/// Elsewhere whole tiles, which cost fewer calls.
std::int64_t call_rows(const Problem& p, const CpuConfig& c) {
  constexpr std::int64_t kFewTiles = 4;
  const std::int64_t tiles = ceil_div(p.m, c.tile_m) * ceil_div(p.n, c.tile_n);
  return tiles <= kFewTiles ? round_up(ceil_div(c.tile_m, 2), 16) : c.tile_m;
}

}  // namespace

CpuConfig plan_cpu(const Problem& p, const DeviceSpec& device) {
  CpuConfig config;
  config.native_bf16 = (device.avx512_bf16 || device.amx_bf16) && p.a_dtype != DType::kF16;
  const std::int64_t l2 = l2_of(device);
  const std::int64_t widest = widest_tile(p, config.native_bf16, l2);
  config.tile_m = even_tile(p.m, widest);
  config.tile_n = even_tile(p.n, widest);
  config.tile_k = tile_depth(widest, config.native_bf16, l2);
  config.call_m = call_rows(p, config);
  config.threads = std::max(device.threads, 1);
  return config;
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
