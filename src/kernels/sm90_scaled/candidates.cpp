#include "kernels/sm90_scaled/candidates.hpp"

#include <cstdint>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "kernels/sm90_scaled/limits.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::kernels::sm90_scaled {
namespace {

// A first model: it has only to rank a few tiles. Microseconds of a stage of 64 tokens: of a row
// that passes through shared memory, of which each converter decodes its share; of 64 rows of A
// that are decoded in registers; and of a tile's beginning and end.
constexpr double kRow = 0.0075;
constexpr double kBandInRegisters = 0.18;
constexpr double kTile = 2.0;
constexpr std::int64_t kTypicalTokens = 8192;  // of an expert

double predicted_ms(const shared::ScaledConfig& c, const Problem& p, const DeviceSpec& device) {
  // A first call without tokens tells nothing of those to come.
  const std::int64_t tokens = p.tokens == 0 ? p.experts * kTypicalTokens : p.tokens;
  const std::int64_t stages = ceil_div(ceil_div(tokens, p.experts), c.tile_k);
  const double stage = c.registers_a ? kBandInRegisters * c.tile_m / shared::kWarpgroupRows
                                     : kRow * (c.tile_m + c.tile_n) / c.converters;
  const double tile = kTile + static_cast<double>(stages) * stage;
  const std::int64_t rounds = ceil_div(sm90::tile_count(c, p), sm90::usable_sms(device));
  return static_cast<double>(rounds) * tile / 1000;
}

}  // namespace

std::vector<Candidate> candidates(const Problem& p, const DeviceSpec& device) {
  std::vector<Candidate> out;
  if (!limits(p, device).empty()) return out;
  for (const shared::ScaledConfig& c : offered_configs(p, device)) {
    const LaunchConfig config = launch_values(c, p, device);
    const double ms = predicted_ms(c, p, device);
    out.push_back({.config = config,
                   .summary = summary(config),
                   .predicted_ms = ms,
                   .bound = "decoding",
                   .cost = ms});
  }
  return out;
}

}  // namespace wgrad::kernels::sm90_scaled
