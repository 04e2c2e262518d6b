#include "kernels/sm90/cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/sm90/config.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/shared/schedule.hpp"

namespace wgrad::kernels::sm90 {
namespace {

// Rates of one multiprocessor a clock, except where stated. Sources: docs/design/performance.md,
// docs/notes/2026-11-29-predicted-and-measured.md.
constexpr double kClock = 1.65e9;            // Hz, sustained under load and the power limit
constexpr double kFlops = 4096;              // dense 16-bit tensor core
constexpr double kSharedBytes = 128;         // wgmma reads of shared memory
constexpr double kCopyBytes = 64;            // copy engine from L2
constexpr double kSplitCopyBytes = 48;       // the same, when all multiprocessors load other tokens
constexpr double kMisalignedCopyBytes = 28;  // the same, K-major boxes off the 128-byte grid
constexpr double kLoaderBytes = 10;          // ordinary loads of ragged K-major operands
constexpr double kStoreBytes = 32;           // tile to L2
constexpr double kMemoryBytesPerSecond = 4.07e12;  // whole device, H200
constexpr double kTileClocks = 250;                // filling the tensor cores' pipe again
constexpr double kLaunchSeconds = 4e-6;
// Share of the shorter of two activities that its overlap with the longer one does not hide.
constexpr double kFeedLoss = 0.12;      // operand loads behind wgmma
constexpr double kEpilogueLoss = 0.05;  // a pingpong epilogue behind the other's main loop
constexpr double kMemoryLoss = 0.35;    // device memory behind everything: they share the power
// Tiles that the last CTA is behind the average one: one expert of many can be much longer.
constexpr double kTailTiles = 0.5;
constexpr double kTailTilesPerExpert = 1.0 / 16;
constexpr double kMostTailTiles = 4;
constexpr std::int64_t kEvenExperts = 4;  // so few: nearly all tiles take equally long
constexpr double kDealtInTurn = 1.06;  // what clusters lose to single CTAs, which claim their tiles
// Parts of a tile that CTAs of a cluster send to each other.
constexpr double kPartBytes = 32;     // a multiprocessor sends to others, a clock
constexpr double kPartClocks = 5500;  // barriers, filling the pipe, for each doubling of the split

struct TileClocks {
  double multiply = 0;
  double feed = 0;
  double epilogue = 0;
};

double overlapped(double a, double b, double loss) {
  return std::max(a, b) + loss * std::min(a, b);
}

/// `busy`: share of the multiprocessors that compute.
double copy_rate(const shared::Config& c, shared::OperandLayout layout, double busy) {
  switch (layout) {
    case shared::OperandLayout::kKMajor:
      return kMisalignedCopyBytes;
    case shared::OperandLayout::kKMajorRagged:
      return kLoaderBytes;
    default:
      return c.split_k > 1 ? std::min(kCopyBytes, kSplitCopyBytes / busy) : kCopyBytes;
  }
}

/// Tokens that a CTA multiplies for a tile of an expert of average length; half a stage is lost at
/// its ragged end.
double tokens_per_tile(const shared::Config& c, const Problem& p) {
  if (p.tokens == 0) return 0;
  const auto experts = static_cast<double>(p.experts);
  return static_cast<double>(p.tokens) / experts / c.split_k + c.tile_k / 2.0;
}

/// Columns that are multiplied of a tile, the mean over a row of tiles.
double mean_width(const shared::Config& c, const Problem& p) {
  const auto tiles = static_cast<double>(ceil_div(p.n, c.tile_n));
  return c.tail_n == 0 ? c.tile_n : ((tiles - 1) * c.tile_n + c.tail_n) / tiles;
}

double tiles_of_a_cluster(const shared::Config& c, const Problem& p, const DeviceSpec& device) {
  const auto rows =
      static_cast<double>(ceil_div(p.m, static_cast<std::int64_t>(c.tile_m) * c.cluster_m));
  const auto columns = static_cast<double>(ceil_div(p.n, c.tile_n));
  return rows * columns * static_cast<double>(p.experts) /
         shared::clusters_at_once(c, sms_of(device));
}

TileClocks tile_clocks(const shared::Config& c, const Problem& p, const DeviceSpec& device) {
  const double tokens = tokens_per_tile(c, p);
  const double m = c.tile_m;
  const double n = mean_width(c, p);
  const double row = shared::bits_of(c.input) / 8;  // bytes of one token of a row
  const double bands = m / shared::kWarpgroupRows;
  const double read = bands * (shared::kWarpgroupRows + n) * row;
  TileClocks clocks;
  clocks.multiply = tokens * std::max(2 * m * n / kFlops, read / kSharedBytes);
  // MN-major: pairs that share B by multicast are no faster (docs/notes, multicast).
  const double b_rows = shared::uses_multicast(c) && !shared::is_mn_major(c.b) ? n / 2 : n;
  const double busy = std::min(1.0, tiles_of_a_cluster(c, p, device));
  clocks.feed =
      tokens * (m * row / copy_rate(c, c.a, busy) + b_rows * row / copy_rate(c, c.b, busy));
  const double passes = shared::reads_output(c) ? 3 : shared::reduces_output(c) ? 2 : 1;
  clocks.epilogue = passes * m * n / c.split_k * shared::output_bytes(c) / kStoreBytes;
  if (c.split_k > 1) {
    const double sent = m * n * sizeof(float) * (c.split_k - 1) / c.split_k;
    clocks.epilogue += sent / kPartBytes + kPartClocks * std::log2(c.split_k);
  }
  return clocks;
}

/// Tiles that the busiest CTA computes. Single CTAs claim them, so the last ones differ by a tile
/// or so; clusters are dealt theirs.
double tiles_of_a_cta(const shared::Config& c, const Problem& p, const DeviceSpec& device) {
  const auto experts = static_cast<double>(p.experts);
  const double mean = tiles_of_a_cluster(c, p, device);
  const double tail = kTailTiles + std::min(experts * kTailTilesPerExpert, kMostTailTiles);
  if (mean <= 1)
    return c.cluster_m > 1 ? kDealtInTurn
                           : 1;  // whatever the longest tile is, no CTA has a second one
  if (shared::cluster_ctas(c) > 1) return std::ceil(mean) * kDealtInTurn + tail;
  return p.experts <= kEvenExperts ? std::ceil(mean) : mean + tail;
}

/// Inputs once, outputs once, or twice where they are added to.
double memory_seconds(const shared::Config& c, const Problem& p) {
  const auto m = static_cast<double>(p.m);
  const auto n = static_cast<double>(p.n);
  const double inputs = (m + n) * static_cast<double>(p.tokens) * shared::bits_of(c.input) / 8;
  const double outputs = m * n * static_cast<double>(p.experts) * shared::output_bytes(c);
  return (inputs + outputs * (p.accumulate ? 2 : 1)) / kMemoryBytesPerSecond;
}

/// Pingpong hides one tile's epilogue behind the main loop of the next.
double tile_time(const shared::Config& c, const TileClocks& clocks) {
  const double loop = overlapped(clocks.multiply, clocks.feed, kFeedLoss) + kTileClocks;
  return c.split == shared::WarpgroupSplit::kTiles
             ? overlapped(loop, clocks.epilogue, kEpilogueLoss)
             : loop + clocks.epilogue;
}

Bound bound_of(const TileClocks& clocks) {
  const double loop = std::max(clocks.multiply, clocks.feed);
  if (clocks.epilogue > loop) return Bound::kEpilogue;
  return clocks.feed > clocks.multiply ? Bound::kOperandFeed : Bound::kTensorCores;
}

}  // namespace

std::string_view name(Bound bound) noexcept {
  switch (bound) {
    case Bound::kTensorCores:
      return "tensor cores";
    case Bound::kOperandFeed:
      return "operand feed";
    case Bound::kEpilogue:
      return "epilogue";
    case Bound::kMemory:
      return "memory";
  }
  return "unknown";
}

Cost cost(const shared::Config& c, const Problem& p, const DeviceSpec& device) {
  const TileClocks clocks = tile_clocks(c, p, device);
  const double tile = tile_time(c, clocks);
  const double compute = tiles_of_a_cta(c, p, device) * tile / kClock;
  const double memory = memory_seconds(c, p);
  const Bound bound = memory > compute ? Bound::kMemory : bound_of(clocks);
  return {(overlapped(compute, memory, kMemoryLoss) + kLaunchSeconds) * 1e3, bound};
}

}  // namespace wgrad::kernels::sm90
