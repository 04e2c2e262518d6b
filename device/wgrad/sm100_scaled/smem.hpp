// Where everything lies in the shared memory of a CTA that multiplies block-scaled operands.
#pragma once

#include "wgrad/shared/smem_table.hpp"
#include "wgrad/sm100_scaled/config.hpp"

namespace wgrad::shared::sm100_scaled {

constexpr SmemTable smem_table(const Config& c) {
  const u32 stages = static_cast<u32>(c.stages);
  const u32 slots = static_cast<u32>(math_warps(c) * c.ring_slots);
  const u32 sums = static_cast<u32>(accumulators(c));
  SmemTable t{};
  t.add({"a stage", RegionKind::kStage, a_stage_bytes(c), stages, kBoxAlignment});
  t.add({"b stage", RegionKind::kStage, b_stage_bytes(c), stages, kBoxAlignment});
  t.add({"output ring slot", RegionKind::kOutput, static_cast<u32>(output_box_bytes(c)), slots,
         kBoxAlignment});
  t.add({"key of the sort", RegionKind::kLoan, 4, static_cast<u32>(kMaxOrderedExperts)});
  t.add({"scales a", RegionKind::kStage, scale_bytes_a(c), stages, 128});  // atoms of a stage
  t.add({"scales b", RegionKind::kStage, scale_bytes_b(c), stages, 128});
  t.add({"columns", RegionKind::kLookup, 4, kColumnCheckpoints, 16});  // common/scale_columns.cuh
  t.add({"work scales", RegionKind::kEntry, 16, kWorkSlots, 16});      // of a tile
  t.add({"tensor memory", RegionKind::kEntry, 4, 1, 16});              // where it begins
  t.add_barriers("full", stages, static_cast<u32>(1 + copier_warps(c)));  // codes, scales are there
  t.add_barriers("empty", stages, 1);                                     // a commit: multiplied
  if (prepares_stages(c)) t.add_barriers("ready", stages, preparation_warps(c));
  t.add_barriers("readback", slots, 1);  // 16-bit accumulate: the destination's box has landed
  t.add_barriers("accumulator full", sums, 1);  // sm100/accumulators.cuh
  t.add_barriers("accumulator empty", sums, kWarpgroupWarps);
  add_work_queue(t, static_cast<u32>(queue_readers(c)));
  add_expert_order(t);
  t.total = round_up(t.total, 128u);
  return t;
}

// Most stages that fit beside the ring, and whose scale factors fit beside the accumulators.
constexpr i32 max_stages(Config c) {
  c.stages = stages_that_fit(c, [](const Config& of) { return smem_table(of).total; });
  while (c.stages > 2 && used_tensor_columns(c) > kScaledTensorColumns) --c.stages;
  return c.stages;
}

static_assert(smem_table(Config{}).total <= kMaxSharedBytes);

}  // namespace wgrad::shared::sm100_scaled
