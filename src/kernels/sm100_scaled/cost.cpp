#include "kernels/sm100_scaled/cost.hpp"

#include <algorithm>

#include "kernels/sm90/config.hpp"
#include "wgrad/shared/schedule.hpp"

namespace wgrad::kernels::sm100_scaled {
namespace {

using shared::OperandLayout;

/// Of the tensor core a clock: twice as many of bytes, four times as many of nibbles; scale factors
/// are free (docs/blackwell.md).
double flops(const Config& c) {
  return sm100::kFlops * 16 / bits_of(c.input);
}

double feed(OperandLayout layout, double bytes) {
  return bytes / (layout == OperandLayout::kKMajorRagged ? sm100::kLoaderBytes : sm100::kCopyBytes);
}

/// Clocks of one token of a tile: of the tensor core and what feeds it.
double multiply_clocks(const Config& c, double width) {
  const double bytes = (c.tile_m + width) * bits_of(c.input) / 8;
  const double product = 2 * c.tile_m * width / flops(c);
  const double prepared = prepares_stages(c) ? bytes / sm100::kPreparedBytes : 0;
  return std::max({product, bytes / sm100::kSharedBytes, prepared});
}
double feed_clocks(const Config& c) {
  const double bytes = bits_of(c.input) / 8.0;
  return feed(c.a, c.tile_m * bytes) + feed(c.b, c.tile_n * bytes);
}

double epilogue_clocks(const Config& c) {
  const double boxes = c.tile_m * c.tile_n * shared::output_bytes(c) / sm100::kStoreBytes;
  return boxes * (shared::reads_output(c) ? 3 : shared::reduces_output(c) ? 2 : 1);
}

/// With two accumulators a tile's epilogue runs under the next one's main loop.
double tile_clocks(const Config& c, double width, double tokens) {
  const double k = tokens > 0 ? tokens + c.tile_k / 2.0 : 0;
  const double loop = k * std::max(multiply_clocks(c, width), feed_clocks(c));
  const double epilogue = epilogue_clocks(c);
  return sm100::kTileClocks + (accumulators(c) == 1 ? loop + epilogue : std::max(loop, epilogue));
}

std::string_view bound_of(const Config& c, const Problem& p) {
  const double tokens = static_cast<double>(p.tokens) / static_cast<double>(p.experts);
  const double multiply = multiply_clocks(c, c.tile_n), feed = feed_clocks(c);
  if (epilogue_clocks(c) > tokens * std::max(multiply, feed)) return "epilogue";
  return feed > multiply ? "operand feed" : "tensor cores";
}

}  // namespace

sm100::Cost cost(const Config& c, const Problem& p, const DeviceSpec& device) {
  sm100::TileModel tile;
  tile.rows = c.tile_m;
  tile.columns = c.tile_n;
  tile.at_once = shared::clusters_at_once(c, sm90::sms_of(device));
  tile.input_bits = bits_of(c.input);
  tile.output_bytes = shared::output_bytes(c);
  tile.bound = bound_of(c, p);
  tile.clocks = [&c](double width, double tokens) { return tile_clocks(c, width, tokens); };
  return sm100::cost_of(tile, p);
}

}  // namespace wgrad::kernels::sm100_scaled
