#include "kernels/sm90_fp8/candidates.hpp"

#include <algorithm>
#include <cstdint>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90_fp8/config.hpp"
#include "kernels/sm90_fp8/limits.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::kernels::sm90_fp8 {
namespace {

// A first model, not fitted: it has only to rank a few tiles. Of one multiprocessor, a clock.
constexpr double kClock = 1.6e9;               // Hz
constexpr double kFlops = 8192;                // dense FP8 tensor core
constexpr double kCopyBytes = 62;              // copy engine from L2 (src/kernels/sm90/cost.cpp)
constexpr double kStoreBytes = 34;             // tile to L2
constexpr double kNarrow = 1.25;               // wgmmas of fewer than 256 columns read A more often
constexpr double kPromoted = 1.15;             // waits for sums that are added
constexpr double kTileClocks = 1500;           // beside its tokens and its stores
constexpr double kSharedHalf = 0.6;            // of B, that a pair shares
constexpr std::int64_t kTypicalTokens = 8192;  // of an expert

double stage_clocks(const shared::Fp8Config& c) {
  const double flops = 2.0 * c.tile_m * c.tile_n * c.tile_k;
  const double multiply =
      flops / kFlops * (c.tile_n < 256 ? kNarrow : 1) * (c.promote ? kPromoted : 1);
  const double b = c.tile_n * (c.cluster_m == 2 ? kSharedHalf : 1);
  return std::max(multiply, (c.tile_m + b) * c.tile_k / kCopyBytes);
}

double predicted_ms(const shared::Fp8Config& c, const Problem& p, const DeviceSpec& device) {
  // A first call without tokens tells nothing of those to come.
  const std::int64_t tokens = p.tokens == 0 ? kTypicalTokens : ceil_div(p.tokens, p.experts);
  const auto stages = static_cast<double>(ceil_div(tokens, c.tile_k));
  const double stores =
      double(c.tile_m) * c.tile_n * shared::output_bytes(c) * (c.accumulate ? 2 : 1) / kStoreBytes;
  const std::int64_t rounds =
      ceil_div(sm90::tile_count(c, p), sm90::usable_sms(device) / c.cluster_m);
  return static_cast<double>(rounds) * (stages * stage_clocks(c) + kTileClocks + stores) / kClock *
         1e3;
}

}  // namespace

std::vector<Candidate> candidates(const Problem& p, const DeviceSpec& device) {
  std::vector<Candidate> out;
  if (!limits(p, device).empty()) return out;
  for (const shared::Fp8Config& c : offered_configs(p, device)) {
    const LaunchConfig launch = launch_values(c, p, device);
    const double ms = predicted_ms(c, p, device);
    out.push_back({.config = launch,
                   .summary = summary(launch),
                   .predicted_ms = ms,
                   .bound = "tensor cores",
                   .cost = ms});
  }
  return out;
}

}  // namespace wgrad::kernels::sm90_fp8
