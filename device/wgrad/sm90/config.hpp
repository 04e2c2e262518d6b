// Config: everything that is fixed when a wgrad kernel is compiled. A structural type, so that it
// can be a template argument.
#pragma once

#include "wgrad/shared/fields.hpp"
#include "wgrad/shared/kernel_config.hpp"

namespace wgrad::shared::sm90 {

// How the two math warpgroups share the work.
enum class WarpgroupSplit : u8 {
  kRows,   // cooperative: 64 rows of every tile each
  kTiles,  // pingpong: alternate tiles of all 128 rows, one writes out while the other multiplies;
           // tile_n <= 192
};
constexpr const char* name_of(WarpgroupSplit split) {
  switch (split) {
    case WarpgroupSplit::kRows:
      return "WarpgroupSplit::kRows";
    case WarpgroupSplit::kTiles:
      return "WarpgroupSplit::kTiles";
  }
  return nullptr;
}

struct Config {
  i32 tile_m = 128;  // rows of one CTA's output tile
  i32 tile_n = 256;  // 64, 128, 192 or 256
  i32 tail_n = 0;    // columns multiplied of the last tile of a row: 64, 128 or 192; 0: all of them
  i32 tile_k = 64;   // tokens a stage: 64, or 32 where both operands are MN-major
  i32 stages = 4;    // operand stages
  i32 cluster_m = 1;             // CTAs side by side along M; 2 share the B tile
  i32 split_k = 1;               // CTAs of a cluster that share an expert's tokens: 1 to 8
  bool workspace_split = false;  // parts of an expert's tokens are work of their own, whose sums
                                 // meet in the workspace (sm90/partial_sums.cuh)
  i32 ring_slots = 2;            // output boxes (16 rows x 128 bytes) for each math warp
  InputType input = InputType::kBf16;
  OutputType output = OutputType::kBf16;
  OperandLayout a = OperandLayout::kMnMajorBlocked;
  OperandLayout b = OperandLayout::kMnMajorBlocked;
  OutputMode output_mode = OutputMode::kDense;
  bool accumulate = false;
  i32 prefetch_boxes = 4;  // FP32 accumulate: how many destination boxes ahead of its adds a
                           // warp prefetches into L2
  bool partial_columns =
      false;  // n * output_bytes % 16 != 0: the last columns are stored one by one
  WarpgroupSplit split = WarpgroupSplit::kRows;
  bool trace = false;  // record what each warp does when (shared/trace.hpp)

  bool operator==(const Config&) const = default;

  // shared/fields.hpp.
  template <typename Visit>
  static constexpr void visit_fields(Visit visit) {
#define WGRAD_FIELD(name, origin) visit(field(#name, &Config::name, FieldOrigin::origin))
    WGRAD_FIELD(tile_m, kChoice);
    WGRAD_FIELD(tile_n, kChoice);
    WGRAD_FIELD(tail_n, kChoice);
    WGRAD_FIELD(tile_k, kDepth);
    WGRAD_FIELD(stages, kDepth);
    WGRAD_FIELD(cluster_m, kChoice);
    WGRAD_FIELD(split_k, kChoice);
    WGRAD_FIELD(workspace_split, kChoice);
    WGRAD_FIELD(ring_slots, kDepth);
    WGRAD_FIELD(input, kProblem);
    WGRAD_FIELD(output, kProblem);
    WGRAD_FIELD(a, kProblem);
    WGRAD_FIELD(b, kProblem);
    WGRAD_FIELD(output_mode, kProblem);
    WGRAD_FIELD(accumulate, kProblem);
    WGRAD_FIELD(prefetch_boxes, kDepth);
    WGRAD_FIELD(partial_columns, kProblem);
    WGRAD_FIELD(split, kChoice);
    WGRAD_FIELD(trace, kChoice);
#undef WGRAD_FIELD
  }
};
static_assert(visits_every_field<Config>(), "a field that visit_fields does not name");

inline constexpr i32 kWarpgroupRows = 64;  // M of one wgmma
inline constexpr i32 kWarpRows = 16;       // of a 64-row band: what one warp holds of it

inline constexpr i32 kMathWarpgroups = 2;

constexpr i32 math_warpgroups(const Config&) {
  return kMathWarpgroups;
}
constexpr i32 math_warps(const Config& c) {
  return math_warpgroups(c) * kWarpgroupThreads / 32;
}
// Warpgroups that read one stage, and 64-row bands that each of them computes.
constexpr i32 warpgroups_per_tile(const Config& c) {
  return c.split == WarpgroupSplit::kRows ? kMathWarpgroups : 1;
}
// Who reads an entry of the work queue: the producer's thread, or its loader warps; the math warps
// that compute the tile.
constexpr i32 queue_readers(const Config& c) {
  return (uses_loader(c) ? kWarpgroupThreads / 32 : 1) +
         warpgroups_per_tile(c) * (kWarpgroupThreads / 32);
}
// Tiles that a CTA computes side by side.
constexpr i32 tiles_at_once(const Config& c) {
  return kMathWarpgroups / warpgroups_per_tile(c);
}
constexpr i32 bands_per_warpgroup(const Config& c) {
  return c.tile_m / kWarpgroupRows / warpgroups_per_tile(c);
}
constexpr i32 threads_per_cta(const Config& c) {
  return (1 + math_warpgroups(c)) * kWarpgroupThreads;
}

// B is shared by multicast only when every stage is filled by the copy engine.
// Whether a warp's 16 rows lie in its accumulators as neighbours in one lane (Fragment).
constexpr bool pairs_rows(const Config&) {
  return false;
}
constexpr bool uses_multicast(const Config& c) {
  return c.cluster_m == 2 && !uses_loader(c);
}

constexpr u32 stage_readers(const Config& c) {
  return uses_multicast(c) ? 2 : 1;
}

// CTAs write to, or arrive at, each other's shared memory: their barriers must be made first.
constexpr bool reaches_other_ctas(const Config& c) {
  return uses_multicast(c) || c.split_k > 1;
}

// Multicast halves: tokens of an MN-major B (any tile_n divides), rows of a K-major B.
constexpr i32 b_box_tokens(const Config& c) {
  return uses_multicast(c) && is_mn_major(c.b) ? c.tile_k / 2 : c.tile_k;
}
constexpr i32 b_box_rows(const Config& c) {
  return uses_multicast(c) && !is_mn_major(c.b) ? c.tile_n / 2 : c.tile_n;
}

// A warp's 16 rows of 128 bytes.
constexpr i32 output_box_rows(const Config&) {
  return kWarpRows;
}

// One CTA's FP32 share of a box.
constexpr i32 box_part_bytes(const Config& c) {
  return output_box_rows(c) * output_box_columns(c) * static_cast<i32>(sizeof(float));
}

// What the other CTAs send to one, into its stages.
constexpr i32 parts_bytes(const Config& c) {
  return math_warps(c) * (c.split_k - 1) * boxes_per_cta(c) * box_part_bytes(c);
}

constexpr bool is_valid(const Config& c) {
  const bool tile =
      c.tile_m == 128 && (c.tile_n == 64 || c.tile_n == 128 || c.tile_n == 192 || c.tile_n == 256);
  const bool k = c.tile_k == kTileK || (c.tile_k == 32 && is_mn_major(c.a) && is_mn_major(c.b));
  // align.cuh: one stage is multiplied, one moves, one lends its first tokens.
  const i32 fewest = moves_rows(c) ? 3 : 2;
  const bool depth =
      k && c.stages >= fewest && c.stages <= 12 && c.ring_slots >= 2 && c.ring_slots <= 4;
  const bool sixteen_bit = bits_of(c.input) == 16;
  const bool tail = c.tail_n % 64 == 0 && c.tail_n >= 0 && c.tail_n < c.tile_n;
  const bool registers = c.split == WarpgroupSplit::kRows || c.tile_n <= 192;
  const bool pair = c.cluster_m == 1 || c.cluster_m == 2;
  const u32 stages_bytes = static_cast<u32>(c.stages) * (a_stage_bytes(c) + b_stage_bytes(c));
  const bool shared_tokens = c.split_k >= 2 && c.split_k <= kMostShares && c.cluster_m == 1 &&
                             c.split == WarpgroupSplit::kRows && !uses_loader(c) &&
                             static_cast<u32>(parts_bytes(c)) <= stages_bytes;
  const bool alone = c.split_k == 1 && c.split == WarpgroupSplit::kRows && !uses_loader(c);
  return sixteen_bit && tile && tail && depth && registers && pair &&
         (c.split_k == 1 || shared_tokens) && (!c.workspace_split || alone);
}

}  // namespace wgrad::shared::sm90

// The host names one family so far.
namespace wgrad::shared {
using namespace sm90;
}
