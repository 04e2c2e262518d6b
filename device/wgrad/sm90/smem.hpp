// Where everything lies in a CTA's dynamic shared memory. The host sizes the launch with it, the
// device addresses with it.
#pragma once

#include "wgrad/sm90/config.hpp"

namespace wgrad::shared::sm90 {

inline constexpr u32 kBoxAlignment = 1024;      // 128-byte swizzle repeats every 8 rows
inline constexpr u32 kMaxSharedBytes = 232448;  // opt-in limit of an SM90 block (227 KB)
inline constexpr u32 kBarrierBytes = 8;
inline constexpr u32 kWorkSlots = 4;        // tiles between the scheduler and the slowest role
inline constexpr u32 kWorkBytes = 32;       // one entry of the work queue
inline constexpr u32 kClaimSlotsAhead = 2;  // claims between the first CTA and the others
inline constexpr u32 kClaimBytes = 16;
inline constexpr i32 kMaxOrderedExperts = 1024;  // more experts than this run in natural order

// Offsets in bytes from the (kBoxAlignment-aligned) start of dynamic shared memory.
struct SmemLayout {
  u32 a;         // stages x A tile
  u32 b;         // stages x B tile
  u32 ring;      // math warps x ring_slots x output box
  u32 parts;     // split_k, in the stages: math warps x boxes_per_cta x other CTAs x part of a box
  u32 full;      // stages mbarriers: operands have landed
  u32 empty;     // stages mbarriers: operands are no longer read
  u32 readback;  // math warps x ring_slots mbarriers: destination box has landed (16-bit
                 // accumulate)
  u32 parts_full;   // split_k: math warps mbarriers: the other CTAs' parts are there
  u32 parts_room;   // split_k: math warps mbarriers: the other CTAs have no use for their stages
  u32 parts_read;   // split_k: kWorkSlots mbarriers: this CTA's stages may be filled again
  u32 turn;         // kMathWarpgroups mbarriers: the main loop is this warpgroup's (pingpong)
  u32 work;         // kWorkSlots entries: the tiles to compute
  u32 work_full;    // kWorkSlots mbarriers: an entry is written
  u32 work_empty;   // kWorkSlots mbarriers: every role has read it
  u32 claims;       // claims_together: kClaimSlotsAhead numbers of tiles, 16 bytes each
  u32 claim_told;   // kClaimSlotsAhead mbarriers: a number is there
  u32 claim_heard;  // kClaimSlotsAhead mbarriers of the first CTA: all have read it
  u32 order;        // u16 expert per schedule slot
  u32 total;
};

constexpr SmemLayout smem_layout(const Config& c) {
  const u32 stages = static_cast<u32>(c.stages);
  const u32 slots = static_cast<u32>(math_warps(c) * c.ring_slots);
  SmemLayout s{};
  s.a = 0;
  s.b = s.a + stages * a_stage_bytes(c);
  s.ring = s.b + stages * b_stage_bytes(c);
  s.parts = 0;
  s.full = s.ring + slots * static_cast<u32>(output_box_bytes(c));
  s.empty = s.full + stages * kBarrierBytes;
  s.readback = s.empty + stages * kBarrierBytes;
  s.parts_full = s.readback + slots * kBarrierBytes;
  const u32 parts_barriers = c.split_k > 1 ? static_cast<u32>(math_warps(c)) : 0;
  s.parts_room = s.parts_full + parts_barriers * kBarrierBytes;
  s.parts_read = s.parts_room + parts_barriers * kBarrierBytes;
  s.turn = s.parts_read + (c.split_k > 1 ? kWorkSlots * kBarrierBytes : 0);
  s.work = round_up(s.turn + static_cast<u32>(kMathWarpgroups) * kBarrierBytes, 16u);
  s.work_full = s.work + kWorkSlots * kWorkBytes;
  s.work_empty = s.work_full + kWorkSlots * kBarrierBytes;
  const u32 claims = claims_together(c) ? kClaimSlotsAhead : 0;
  s.claims = s.work_empty + kWorkSlots * kBarrierBytes;
  s.claim_told = s.claims + claims * kClaimBytes;
  s.claim_heard = s.claim_told + claims * kBarrierBytes;
  s.order = s.claim_heard + claims * kBarrierBytes;
  s.total = round_up(s.order + static_cast<u32>(kMaxOrderedExperts) * 2u, 128u);
  return s;
}

// Most stages that fit beside the ring.
constexpr i32 max_stages(Config c) {
  c.stages = 12;
  while (c.stages > 2 && smem_layout(c).total > kMaxSharedBytes) --c.stages;
  return c.stages;
}

static_assert(smem_layout(Config{}).total <= kMaxSharedBytes);
static_assert(smem_layout(Config{}).b % kBoxAlignment == 0 &&
              smem_layout(Config{}).ring % kBoxAlignment == 0);
// The expert sort borrows the stages before the first load.
static_assert(static_cast<u32>(kMaxOrderedExperts) * 4u <= 2u * (128u + 64u) * 64u);

}  // namespace wgrad::shared::sm90
