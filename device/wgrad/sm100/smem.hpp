// Where everything lies in a CTA's dynamic shared memory. The host sizes the launch with it, the
// device addresses with it.
#pragma once

#include "wgrad/shared/smem_table.hpp"
#include "wgrad/sm100/config.hpp"

namespace wgrad::shared::sm100 {

constexpr SmemTable smem_table(const Config& c) {
  const u32 stages = static_cast<u32>(c.stages);
  const u32 slots = static_cast<u32>(math_warps(c) * c.ring_slots);
  const u32 accumulators = static_cast<u32>(kAccumulators);
  SmemTable t{};
  t.add({"a stage", RegionKind::kStage, a_stage_bytes(c), stages, kBoxAlignment});
  t.add({"b stage", RegionKind::kStage, b_stage_bytes(c), stages, kBoxAlignment});
  t.add({"output ring slot", RegionKind::kOutput, static_cast<u32>(output_box_bytes(c)), slots,
         kBoxAlignment});
  t.add({"key of the sort", RegionKind::kLoan, 4, static_cast<u32>(kMaxOrderedExperts)});
  t.add_barriers("full", stages, full_arrivals(c));  // operands have landed
  t.add_barriers("empty", stages, 1);                // a commit: operands are multiplied
  // sm100/preparation.cuh
  if (prepares_stages(c))
    t.add_barriers("ready", stages, kPreparationWarps * static_cast<u32>(c.cluster_m));
  t.add_barriers("readback", slots, 1);  // 16-bit accumulate: the destination's box has landed
  t.add_barriers("accumulator full", accumulators, 1);  // sm100/accumulators.cuh
  t.add_barriers("accumulator empty", accumulators,
                 kWarpgroupWarps * static_cast<u32>(c.cluster_m));
  t.add({"tensor memory", RegionKind::kEntry, 4, 1, 16});  // where it begins
  add_work_queue(t, static_cast<u32>(queue_readers(c)));
  if (claims_together(c)) add_cluster_claims(t, static_cast<u32>(cluster_ctas(c)));
  add_expert_order(t);
  t.total = round_up(t.total, 128u);
  return t;
}

// Most stages that fit beside the ring.
constexpr i32 max_stages(Config c) {
  return stages_that_fit(c, [](const Config& of) { return smem_table(of).total; });
}

static_assert(smem_table(Config{}).total <= kMaxSharedBytes);

}  // namespace wgrad::shared::sm100
