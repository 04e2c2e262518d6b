#include "kernels/sm90/cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/skew.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/shared/token_split.hpp"

namespace wgrad::kernels::sm90 {
namespace {

// Rates of one multiprocessor a clock, except where stated: fitted together, so that one alone says
// little (docs/notes/2026-12-01-a-model-fitted-to-every-candidate.md). Those of K-major operands
// are older: docs/notes/2026-11-29-predicted-and-measured.md.
constexpr double kClock = 1.83e9;            // Hz
constexpr double kFlops = 4096;              // dense 16-bit tensor core
constexpr double kSharedBytes = 128;         // wgmma reads of shared memory
constexpr double kCopyBytes = 62;            // copy engine from L2
constexpr double kSplitCopyBytes = 59.2;     // the same, when all multiprocessors load other tokens
constexpr double kMisalignedCopyBytes = 28;  // the same, K-major boxes off the 128-byte grid
constexpr double kLoaderBytes = 10;          // ordinary loads of ragged K-major operands
constexpr double kStoreBytes = 34;           // tile to L2
constexpr double kMemoryBytesPerSecond = 4.07e12;  // whole device, H200
constexpr double kLaunchSeconds = 4e-6;
// What an MN-major row costs whose pitch is no multiple of 128, 64 or 32 bytes; boxes of 64 columns
// instead of whole tiles; the half of a row that a pair shares.
constexpr double kPitch64 = 1.24;
constexpr double kPitch32 = 1.34;
constexpr double kPitch16 = 1.78;
constexpr double kNarrowBoxes = 1.078;
constexpr double kSharedHalf = 0.77;
// Narrow tiles, and narrow last ones of a row, leave gaps between their wgmmas.
constexpr double kGaps64 = 1.8;
constexpr double kGaps128 = 1.03;
// Clocks of a tile beside its tokens and its stores.
constexpr double kClusterClocks = 197;
constexpr double kClaimClocks = 4900;  // from one claim of a cluster to its next
constexpr double kPingpongClocks = 733;
constexpr double kCooperativeClocks = 371;
// Share of the shorter of two activities that its overlap with the longer one does not hide.
constexpr double kFeedLoss = 0.25;  // operand loads behind wgmma
constexpr double kEpilogueLoss =
    0.305;                            // of a cooperative epilogue: its stores overlap what follows
constexpr double kMemoryLoss = 0.26;  // device memory behind everything: they share the power
constexpr double kClusterLoss = 1.043;  // of clusters: they come free together
// Parts of a tile that CTAs of a cluster send to each other.
constexpr double kPartBytes = 4.8;    // a multiprocessor sends to others, a clock
constexpr double kPartClocks = 9200;  // barriers, filling the pipe, for each doubling of the split

// Parts whose sums meet in the workspace: bytes a multiprocessor leaves or finds there a clock
// while all do, or a few; the atomics.
constexpr double kPartCopyBytes = 45;  // copy engine, where the parts load other tokens
constexpr double kSumBytes = 18;
constexpr double kLastSumBytes = 45;
constexpr double kMeetingClocks = 2500;

double overlapped(double a, double b, double loss) {
  return std::max(a, b) + loss * std::min(a, b);
}

struct Shape {
  TileCounts tiles;
  double busy = 1;  // share of the multiprocessors that compute
};

Shape shape_of(const shared::Config& c, const Problem& p, const DeviceSpec& device,
               shared::TokenSplit split) {
  Shape s;
  s.tiles.rows =
      static_cast<double>(ceil_div(p.m, static_cast<std::int64_t>(c.tile_m) * c.cluster_m));
  s.tiles.columns = static_cast<double>(ceil_div(p.n, c.tile_n));
  s.tiles.at_once = shared::clusters_at_once(c, sms_of(device));
  const double clusters = s.tiles.rows * s.tiles.columns * static_cast<double>(p.experts) *
                          (c.workspace_split ? split.most : 1);
  s.busy = std::min(1.0, clusters * shared::cluster_ctas(c) / usable_sms(device));
  return s;
}

/// A packed row of `extent` elements: how much more it costs than one of whole 128-byte lines.
double row_cost(std::int64_t extent, int element_bytes) {
  const std::int64_t pitch = extent * element_bytes;
  const double boxes = extent % (shared::kSwizzleBytes / element_bytes) == 0 ? 1 : kNarrowBoxes;
  if (pitch % 128 == 0) return boxes;
  return boxes * (pitch % 64 == 0 ? kPitch64 : pitch % 32 == 0 ? kPitch32 : kPitch16);
}

/// Clocks that a token's `bytes` of an operand of `extent` take.
double feed(const shared::Config& c, shared::OperandLayout layout, std::int64_t extent,
            double bytes, double busy) {
  switch (layout) {
    case shared::OperandLayout::kKMajor:
      return bytes / kMisalignedCopyBytes;
    case shared::OperandLayout::kKMajorRagged:
      return bytes / kLoaderBytes;
    default:
      return bytes * row_cost(extent, shared::bits_of(c.input) / 8) /
             (c.workspace_split ? kPartCopyBytes / busy
              : c.split_k > 1   ? kSplitCopyBytes / busy
                                : kCopyBytes);
  }
}

struct TokenClocks {
  double multiply = 0;
  double feed = 0;
};

/// Of one token of a tile of which `width` columns are multiplied. Columns past the end of a row
/// are filled with zeros as fast as others are read.
TokenClocks token_clocks(const shared::Config& c, const Problem& p, double width, double busy) {
  const double m = c.tile_m;
  const double row = shared::bits_of(c.input) / 8.0;
  const double bands = m / shared::kWarpgroupRows;
  const double read = bands * (shared::kWarpgroupRows + width) * row;
  const double gaps = width <= 64 ? kGaps64 : width <= 128 ? kGaps128 : 1;
  const double half = shared::uses_multicast(c) ? 1 - kSharedHalf / 2 : 1;
  const double b = half * row * width;
  const double zeros = shared::is_mn_major(c.b) ? half * row * (c.tile_n - width) / kCopyBytes : 0;
  return {gaps * std::max(2 * m * width / kFlops, read / kSharedBytes),
          feed(c, c.a, p.m, m * row, busy) + feed(c, c.b, p.n, b, busy) + zeros};
}

double epilogue_clocks(const shared::Config& c, double width) {
  const double passes = shared::reads_output(c) ? 3 : shared::reduces_output(c) ? 2 : 1;
  const double elements = c.tile_m * width;
  const double stores = passes * elements / c.split_k * shared::output_bytes(c) / kStoreBytes;
  if (c.split_k == 1) return stores;
  const double sent = elements * sizeof(float) * (c.split_k - 1) / c.split_k;
  return stores + sent / kPartBytes + kPartClocks * std::log2(c.split_k);
}

/// Of a tile of an expert of `tokens`; half a stage is lost at its ragged end. Pingpong hides one
/// tile's epilogue behind the main loop of the next.
double tile_clocks(const shared::Config& c, const Problem& p, double width, double busy,
                   double tokens) {
  const TokenClocks token = token_clocks(c, p, width, busy);
  const double k = tokens > 0 ? tokens / c.split_k + c.tile_k / 2.0 : 0;
  const double loop = k * overlapped(token.multiply, token.feed, kFeedLoss) +
                      (shared::cluster_ctas(c) > 1 ? kClusterClocks : 0);
  const double epilogue = epilogue_clocks(c, width);
  const double clocks = c.split == shared::WarpgroupSplit::kTiles
                            ? std::max(loop, epilogue + kPingpongClocks)
                            : loop + kCooperativeClocks + kEpilogueLoss * epilogue;
  return shared::cluster_ctas(c) > 1 ? std::max(clocks, kClaimClocks) : clocks;
}

/// Inputs once, outputs once, or twice where they are added to.
double memory_seconds(const shared::Config& c, const Problem& p) {
  const auto m = static_cast<double>(p.m);
  const auto n = static_cast<double>(p.n);
  const double inputs = (m + n) * static_cast<double>(p.tokens) * shared::bits_of(c.input) / 8;
  const double outputs = m * n * static_cast<double>(p.experts) * shared::output_bytes(c);
  return (inputs + outputs * (p.accumulate ? 2 : 1)) / kMemoryBytesPerSecond;
}

/// Of the sums of one part: left there, found and added.
double meeting_clocks(const shared::Config& c, double width, double bytes_a_clock) {
  return 2 * c.tile_m * width * sizeof(float) / bytes_a_clock + kMeetingClocks;
}

/// Parts of a tile of an expert of `tokens`, and the clocks of one; the first ones come with the
/// tile's epilogue.
double part_clocks(const shared::Config& c, const Problem& p, double width, double busy,
                   double tokens, double parts) {
  const double each = tile_clocks(c, p, width, busy, tokens / parts);
  if (parts == 1) return each;
  const double epilogue = kEpilogueLoss * epilogue_clocks(c, width);
  return each - epilogue + (epilogue + (parts - 1) * meeting_clocks(c, width, kSumBytes)) / parts;
}

double compute_seconds(const shared::Config& c, const Problem& p, const DeviceSpec& device,
                       Skew skew, shared::TokenSplit split) {
  const Shape s = shape_of(c, p, device, split);
  const auto tokens = static_cast<double>(p.tokens);
  const double last = c.tail_n == 0 ? c.tile_n : c.tail_n;
  double longest_tree = 0;
  double clocks = makespan(
      token_shares(p.experts, skew), static_cast<double>(p.experts), s.tiles, [&](double share) {
        const double parts =
            c.workspace_split ? token_parts(split, static_cast<shared::u32>(share * tokens)) : 1;
        longest_tree = std::max(longest_tree, std::ceil(std::log2(parts)));
        return TileTimes{part_clocks(c, p, c.tile_n, s.busy, share * tokens, parts),
                         part_clocks(c, p, last, s.busy, share * tokens, parts), parts};
      });
  clocks += longest_tree * meeting_clocks(c, c.tile_n, kLastSumBytes);
  return clocks * (shared::cluster_ctas(c) > 1 ? kClusterLoss : 1) / kClock;
}

double total_ms(double compute, double memory) {
  return (overlapped(compute, memory, kMemoryLoss) + kLaunchSeconds) * 1e3;
}

Bound bound_of(const shared::Config& c, const Problem& p, const DeviceSpec& device) {
  const TokenClocks token = token_clocks(c, p, c.tile_n, shape_of(c, p, device, {1, 1, 1}).busy);
  const double tokens = static_cast<double>(p.tokens) / static_cast<double>(p.experts) / c.split_k;
  if (epilogue_clocks(c, c.tile_n) > tokens * std::max(token.multiply, token.feed))
    return Bound::kEpilogue;
  return token.feed > token.multiply ? Bound::kOperandFeed : Bound::kTensorCores;
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

Cost cost(const shared::Config& c, const Problem& p, const DeviceSpec& device,
          shared::TokenSplit split) {
  const double compute = compute_seconds(c, p, device, Skew::kJitter, split);
  const double memory = memory_seconds(c, p);
  return {total_ms(compute, memory), memory > compute ? Bound::kMemory : bound_of(c, p, device)};
}

double ranked_ms(const shared::Config& c, const Problem& p, const DeviceSpec& device, double hot,
                 shared::TokenSplit split) {
  const double memory = memory_seconds(c, p);
  const auto ms = [&](Skew skew) {
    return total_ms(compute_seconds(c, p, device, skew, split), memory);
  };
  if (p.experts == 1) return ms(Skew::kJitter);
  return std::pow(ms(Skew::kJitter), 1 - hot) * std::pow(ms(Skew::kHot), hot);
}

}  // namespace wgrad::kernels::sm90
