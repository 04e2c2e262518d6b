// Config: everything that is fixed when an SM 10.0 or 10.3 kernel for 16-bit operands is compiled.
// A structural type, so that it can be a template argument.
#pragma once

#include "wgrad/shared/fields.hpp"
#include "wgrad/shared/kernel_config.hpp"

namespace wgrad::shared::sm100 {

struct Config {
  // NOLINTNEXTLINE(readability-identifier-naming): a field of other families' configs
  static constexpr i32 split_k = 1;  // CTAs that share an expert's tokens: none do

  i32 tile_m = 128;    // rows of one CTA's output tile: the lanes of tensor memory
  i32 tile_n = 256;    // 64, 128, 192 or 256
  i32 tile_k = 64;     // tokens a stage: 64, or 32 where both operands are MN-major
  i32 stages = 4;      // operand stages
  i32 cluster_m = 1;   // CTAs side by side along M; 2 multiply together (cta_group::2), each with
                       // its rows of A and half the columns of B
  i32 ring_slots = 2;  // output boxes (32 rows x 128 bytes) for each epilogue warp
  InputType input = InputType::kBf16;
  OutputType output = OutputType::kBf16;
  OperandLayout a = OperandLayout::kMnMajorBlocked;
  OperandLayout b = OperandLayout::kMnMajorBlocked;
  OutputMode output_mode = OutputMode::kDense;
  bool accumulate = false;
  i32 prefetch_boxes =
      4;  // FP32 accumulate: destination boxes prefetched into L2 ahead of the adds
  bool partial_columns =
      false;           // n * output_bytes % 16 != 0: the last columns are stored one by one
  bool trace = false;  // record what each warp does when (shared/trace.hpp)

  bool operator==(const Config&) const = default;

  // shared/fields.hpp.
  template <typename Visit>
  static constexpr void visit_fields(Visit visit) {
#define WGRAD_FIELD(name, origin) visit(field(#name, &Config::name, FieldOrigin::origin))
    WGRAD_FIELD(tile_m, kChoice);
    WGRAD_FIELD(tile_n, kChoice);
    WGRAD_FIELD(tile_k, kDepth);
    WGRAD_FIELD(stages, kDepth);
    WGRAD_FIELD(cluster_m, kChoice);
    WGRAD_FIELD(ring_slots, kDepth);
    WGRAD_FIELD(input, kProblem);
    WGRAD_FIELD(output, kProblem);
    WGRAD_FIELD(a, kProblem);
    WGRAD_FIELD(b, kProblem);
    WGRAD_FIELD(output_mode, kProblem);
    WGRAD_FIELD(accumulate, kProblem);
    WGRAD_FIELD(prefetch_boxes, kDepth);
    WGRAD_FIELD(partial_columns, kProblem);
    WGRAD_FIELD(trace, kChoice);
#undef WGRAD_FIELD
  }
};
static_assert(visits_every_field<Config>(), "a field that visit_fields does not name");

inline constexpr i32 kAccumulators = 2;  // one is written out while the other is summed
constexpr i32 accumulators(const Config&) {
  return kAccumulators;
}
inline constexpr i32 kTensorMemoryColumns = 512;  // of an SM
inline constexpr i32 kColumnStep = 64;            // of the last tile of a row: multiplied in 64s

// Roles of one CTA, warp after warp: the producer's warpgroup (copies, scheduler), the epilogue's
// four warps (each reads its quarter of the lanes of tensor memory), one warp that multiplies, and
// four that put K-major stages right before it, if there are any.
inline constexpr u32 kFirstEpilogueWarp = kWarpgroupWarps;
inline constexpr u32 kMultiplierWarp = 2 * kWarpgroupWarps;
inline constexpr u32 kFirstPreparationWarp = kMultiplierWarp + 1;
inline constexpr u32 kPreparationWarps = 4;

constexpr bool multiplies_in_pairs(const Config& c) {
  return c.cluster_m == 2;
}
// Of one CTA.
constexpr i32 b_columns(const Config& c) {
  return c.tile_n / c.cluster_m;
}
constexpr u32 b_stage_bytes(const Config& c) {
  return static_cast<u32>(bytes_of(b_columns(c) * c.tile_k, bits_of(c.input)));
}

constexpr bool prepares_stages(const Config& c) {
  return moves_rows(c);
}
constexpr i32 threads_per_cta(const Config& c) {
  const u32 warps = kFirstPreparationWarp + (prepares_stages(c) ? kPreparationWarps : 0);
  return static_cast<i32>(32 * warps);
}

// Warps that write the tile out.
constexpr i32 math_warps(const Config&) {
  return static_cast<i32>(kWarpgroupWarps);
}
constexpr i32 warpgroups_per_tile(const Config&) {
  return 1;
}
constexpr i32 tiles_at_once(const Config&) {
  return 1;
}
// Who reads an entry of the work queue: the producer's thread, or its loader warps; the thread that
// multiplies; the epilogue's warps; those that prepare.
constexpr i32 queue_readers(const Config& c) {
  const u32 producers = uses_loader(c) ? kWarpgroupWarps : 1;
  return static_cast<i32>(producers + 1 + kWarpgroupWarps +
                          (prepares_stages(c) ? kPreparationWarps : 0));
}

constexpr bool uses_multicast(const Config&) {
  return false;
}
constexpr u32 stage_readers(const Config&) {
  return 1;
}
// So pairs claim tiles together, also those whose threads copy: these hand over what is in flight
// before they wait for the first CTA's scheduler, which needs no later stage of theirs.
constexpr bool reaches_other_ctas(const Config& c) {
  return multiplies_in_pairs(c);
}
constexpr i32 b_box_tokens(const Config& c) {
  return c.tile_k;
}
constexpr i32 b_box_rows(const Config& c) {
  return b_columns(c);
}
// A warp's lanes of tensor memory.
constexpr i32 output_box_rows(const Config&) {
  return 32;
}

// Tensor memory is allocated in powers of two.
constexpr u32 tensor_columns(const Config& c) {
  u32 columns = 32;
  while (columns < static_cast<u32>(kAccumulators * c.tile_n)) columns *= 2;
  return columns;
}

constexpr bool is_valid(const Config& c) {
  const bool tile = c.tile_m == 128 && c.tile_n >= 64 && c.tile_n <= 256 && c.tile_n % 64 == 0 &&
                    tensor_columns(c) <= static_cast<u32>(kTensorMemoryColumns);
  const bool k = c.tile_k == kTileK || (c.tile_k == 32 && !moves_rows(c));
  // common/align.cuh: one stage is multiplied, one moves, one lends its first tokens.
  const i32 fewest = moves_rows(c) ? 3 : 2;
  // A box of an MN-major B is 64 columns wide.
  const bool pair = c.cluster_m == 2 && (c.tile_n % 128 == 0 || !is_mn_major(c.b));
  return tile && k && (c.cluster_m == 1 || pair) && c.stages >= fewest && c.stages <= 12 &&
         c.ring_slots >= 2 && c.ring_slots <= 4;
}

}  // namespace wgrad::shared::sm100
