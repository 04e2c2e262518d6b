#include "kernels/sm100/cost.hpp"

#include <algorithm>
#include <cstdint>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/skew.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/shared/schedule.hpp"

namespace wgrad::kernels::sm100 {
namespace {

/// Clocks of one token of a tile.
struct TokenClocks {
  double multiply = 0;
  double in_shared = 0;
  double feed = 0;

  double longest() const { return std::max({multiply, in_shared, feed}); }
};

double feed(shared::OperandLayout layout, double bytes) {
  return bytes / (layout == shared::OperandLayout::kKMajorRagged ? kLoaderBytes : kCopyBytes);
}

TokenClocks token_clocks(const Config& c, double width) {
  const double rows = c.tile_m, bytes = shared::bits_of(c.input) / 8.0;
  // Of a pair each CTA holds half of B.
  const double b = c.cluster_m == 2 ? c.tile_n / 2.0 : width;
  const double columns = c.cluster_m == 2 ? c.tile_n : width;
  // Written by copies and read by products; K-major rows that move are read and written once more.
  const double passes = shared::moves_rows(c) ? 4 : 2;
  const double in_shared = passes * (rows + b) * bytes / kSharedBytes;
  return {2 * rows * columns / kFlops, in_shared,
          feed(c.a, rows * bytes) + feed(c.b, b_columns(c) * bytes)};
}

double epilogue_clocks(const Config& c) {
  const double passes = shared::reads_output(c) ? 3 : shared::reduces_output(c) ? 2 : 1;
  return passes * c.tile_m * c.tile_n * shared::output_bytes(c) / kStoreBytes;
}

/// One tile's epilogue runs under the main loop of the next.
double tile_clocks(const Config& c, double width, double tokens) {
  const TokenClocks token = token_clocks(c, width);
  const double k = tokens > 0 ? tokens + c.tile_k / 2.0 : 0;
  return kTileClocks + std::max(k * token.longest(), epilogue_clocks(c));
}

/// Inputs once, outputs once, or twice where they are added to.
double memory_seconds(const TileModel& tile, const Problem& p) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n);
  const double inputs = (m + n) * static_cast<double>(p.tokens) * tile.input_bits / 8;
  const double outputs = m * n * static_cast<double>(p.experts) * tile.output_bytes;
  return (inputs + outputs * (p.accumulate ? 2 : 1)) / kMemoryBytesPerSecond;
}

double compute_seconds(const TileModel& tile, const Problem& p) {
  sm90::TileCounts tiles;
  tiles.rows = static_cast<double>(ceil_div(p.m, std::int64_t{tile.rows}));
  tiles.columns = static_cast<double>(ceil_div(p.n, std::int64_t{tile.columns}));
  tiles.at_once = tile.at_once;
  const auto tokens = static_cast<double>(p.tokens);
  const std::int64_t rest = p.n - (ceil_div(p.n, std::int64_t{tile.columns}) - 1) * tile.columns;
  const auto last = static_cast<double>(round_up(rest, std::int64_t{shared::sm100::kColumnStep}));
  return sm90::makespan(sm90::token_shares(p.experts, sm90::Skew::kJitter),
                        static_cast<double>(p.experts), tiles,
                        [&](double share) {
                          return sm90::TileTimes{tile.clocks(tile.columns, share * tokens),
                                                 tile.clocks(last, share * tokens)};
                        }) /
         kClock;
}

std::string_view bound_of(const Config& c, const Problem& p) {
  const TokenClocks token = token_clocks(c, c.tile_n);
  const double tokens = static_cast<double>(p.tokens) / static_cast<double>(p.experts);
  if (epilogue_clocks(c) > tokens * token.longest()) return "epilogue";
  if (token.feed == token.longest()) return "operand feed";
  return token.multiply >= token.in_shared ? "tensor cores" : "shared memory";
}

}  // namespace

Cost cost_of(const TileModel& tile, const Problem& p) {
  const double compute = compute_seconds(tile, p), memory = memory_seconds(tile, p);
  return {(std::max(compute, memory) + kLaunchSeconds) * 1e3,
          memory > compute ? "memory" : tile.bound};
}

Cost cost(const Config& c, const Problem& p, const DeviceSpec& device) {
  TileModel tile;
  tile.rows = c.tile_m * c.cluster_m;
  tile.columns = c.tile_n;
  tile.at_once = shared::clusters_at_once(c, sm90::sms_of(device));
  tile.input_bits = shared::bits_of(c.input);
  tile.output_bytes = shared::output_bytes(c);
  tile.bound = bound_of(c, p);
  tile.clocks = [&c](double width, double tokens) { return tile_clocks(c, width, tokens); };
  return cost_of(tile, p);
}

}  // namespace wgrad::kernels::sm100
