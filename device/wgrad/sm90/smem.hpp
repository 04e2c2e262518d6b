// Where everything lies in a CTA's dynamic shared memory. The host sizes the launch with it, the
// device addresses with it.
#pragma once

#include "wgrad/shared/smem_table.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::shared::sm90 {

// Who completes a phase of a stage's `empty` barrier: each math warp of every CTA it was sent to.
constexpr u32 empty_arrivals(const Config& c) {
  return static_cast<u32>(warpgroups_per_tile(c)) * kWarpgroupWarps * stage_readers(c);
}

constexpr SmemTable smem_table(const Config& c) {
  const u32 stages = static_cast<u32>(c.stages), warps = static_cast<u32>(math_warps(c));
  const u32 slots = warps * static_cast<u32>(c.ring_slots);
  const u32 others = static_cast<u32>(c.split_k) - 1;  // CTAs that share the tokens
  SmemTable t{};
  t.add({"a stage", RegionKind::kStage, a_stage_bytes(c), stages, kBoxAlignment});
  t.add({"b stage", RegionKind::kStage, b_stage_bytes(c), stages, kBoxAlignment});
  t.add({"output ring slot", RegionKind::kOutput, static_cast<u32>(output_box_bytes(c)), slots,
         kBoxAlignment});
  t.add({"key of the sort", RegionKind::kLoan, 4, static_cast<u32>(kMaxOrderedExperts)});
  t.add_barriers("full", stages, full_arrivals(c));    // operands have landed
  t.add_barriers("empty", stages, empty_arrivals(c));  // operands are no longer read
  t.add_barriers("readback", slots, 1);  // 16-bit accumulate: the destination's box has landed
  if (others > 0) {                      // sm90/parts.cuh
    t.add({"part of a box", RegionKind::kLoan, static_cast<u32>(box_part_bytes(c)),
           warps * others * static_cast<u32>(boxes_per_cta(c))});
    t.add_barriers("parts full", warps, others);
    t.add_barriers("parts room", warps, others);
    t.add_barriers("parts read", kWorkSlots, warps);
  }
  t.add_barriers("turn", static_cast<u32>(kMathWarpgroups), kWarpgroupWarps);  // sm90/turns.cuh
  add_work_queue(t, static_cast<u32>(queue_readers(c)));
  if (splits_in_workspace(c)) {  // common/token_parts.cuh
    t.add({"token part", RegionKind::kEntry, 16, kWorkSlots, 16});
    t.add_barriers("sums ready", 1, 1);
  }
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

}  // namespace wgrad::shared::sm90
