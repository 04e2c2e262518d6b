// A CTA's dynamic shared memory as a table. A family's config gives the rows (smem_table), in the
// order of their offsets; addresses, the set-up of the barriers and the names in the emulator's
// reports come from there.
#pragma once

#include "wgrad/shared/fields.hpp"

namespace wgrad::shared {

// Opt-in limit of a block on SM 9.0, 10.0 and 10.3 (CUDA programming guide, compute capabilities).
inline constexpr u32 kMaxSharedBytes = 232448;
inline constexpr u32 kBoxAlignment = 1024;  // 128-byte swizzle repeats every 8 rows
inline constexpr u32 kBarrierBytes = 8;
inline constexpr u32 kWorkSlots = 4;        // tiles between the scheduler and the slowest role
inline constexpr u32 kWorkBytes = 32;       // one entry of the work queue
inline constexpr u32 kClaimSlotsAhead = 2;  // claims between the first CTA and the others
inline constexpr u32 kClaimBytes = 16;
inline constexpr i32 kMaxOrderedExperts = 1024;  // more experts than this run in natural order

enum class RegionKind : u8 {
  kStage,    // operands
  kOutput,   // boxes of the output
  kBarrier,  // mbarriers
  kEntry,    // of a queue
  kLookup,   // read by index
  kLoan,     // lies in the stages, at a time when these hold no operands
};

struct SmemRegion {
  const char* name = "";  // of a part, for reports and for those who ask for its place
  RegionKind kind = RegionKind::kStage;
  u32 bytes = 0;  // of a part
  u32 count = 0;  // parts; 0: a config that needs none
  u32 alignment = 1;
  u32 arrivals = 0;  // kBarrier: what completes a phase
  u32 at = 0;        // of the first part, from the start of shared memory
};

struct SmemTable {
  static constexpr u32 kMostRegions = 24;

  SmemRegion region[kMostRegions] = {};
  u32 count = 0;
  u32 total = 0;  // bytes

  constexpr void add(SmemRegion r) {
    r.at = r.kind == RegionKind::kLoan ? 0 : round_up(total, r.alignment);
    if (r.kind != RegionKind::kLoan) total = r.at + r.bytes * r.count;
    region[count++] = r;
  }
  constexpr void add_barriers(const char* name, u32 parts, u32 arrivals) {
    add({name, RegionKind::kBarrier, kBarrierBytes, parts, kBarrierBytes, arrivals});
  }

  // A name that the table lacks is no constant expression: it does not compile.
  constexpr const SmemRegion& of(const char* name) const {
    u32 i = 0;
    while (!same_text(region[i].name, name)) ++i;
    return region[i];
  }
};

// Where a row's parts lie: for device code, in which names would become data.
struct Place {
  u32 at;
  u32 bytes;
};
template <typename Config>
constexpr Place place_of(const Config& config, const char* name) {
  const SmemTable table = smem_table(config);
  const SmemRegion& r = table.of(name);
  return {r.at, r.bytes};
}

// Rows of common/work_queue.cuh: the tiles to compute; an entry is written; every role has read it.
constexpr void add_work_barriers(SmemTable& t, u32 readers) {
  t.add_barriers("work full", kWorkSlots, 1);
  t.add_barriers("work empty", kWorkSlots, readers);
}
constexpr void add_work_queue(SmemTable& t, u32 readers) {
  t.add({"work entry", RegionKind::kEntry, kWorkBytes, kWorkSlots, 16});
  add_work_barriers(t, readers);
}
// Rows of common/cluster_claims.cuh: numbers of tiles; one is there; all have read it.
constexpr void add_cluster_claims(SmemTable& t, u32 ctas) {
  t.add({"claim", RegionKind::kEntry, kClaimBytes, kClaimSlotsAhead, kBarrierBytes});
  t.add_barriers("claim told", kClaimSlotsAhead, 1);
  t.add_barriers("claim heard", kClaimSlotsAhead, ctas);
}
// The expert of each schedule slot (common/setup.cuh).
constexpr void add_expert_order(SmemTable& t) {
  t.add({"order", RegionKind::kLookup, 2, static_cast<u32>(kMaxOrderedExperts), 2});
}

// Its keys while it is sorted lie in the two smallest stages.
static_assert(static_cast<u32>(kMaxOrderedExperts) * 4u <= 2u * (128u + 64u) * 64u);

// The most stages, 12 at most, that `c` can have where `bytes(c)` have to fit into shared memory.
template <typename Config, typename Bytes>
constexpr i32 stages_that_fit(Config c, const Bytes& bytes) {
  c.stages = 12;
  while (c.stages > 2 && bytes(c) > kMaxSharedBytes) --c.stages;
  return c.stages;
}

}  // namespace wgrad::shared
