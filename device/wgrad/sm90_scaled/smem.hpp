// Where everything lies in the shared memory of a CTA that decodes.
#pragma once

#include "wgrad/sm90/smem.hpp"
#include "wgrad/sm90_scaled/config.hpp"

namespace wgrad::shared {

inline constexpr u32 kFlagBytes = 16;
inline constexpr u32 kLastOfTokens = 1;  // the next decoded stage is of other tokens
inline constexpr u32 kRangeBytes = 16;   // ScaleRange

constexpr u32 scale_bytes_a(const ScaledConfig& c) {
  return static_cast<u32>(c.tile_m / kScaleAtomRows * raw_atoms(c) * kScaleAtomBytes);
}
constexpr u32 scale_bytes_b(const ScaledConfig& c) {
  return static_cast<u32>(c.tile_n / kScaleAtomRows * raw_atoms(c) * kScaleAtomBytes);
}
// Where the copy engine may write a box.
constexpr u32 raw_alignment(const ScaledConfig& c) {
  return c.registers_a ? kBoxAlignment : 128;
}
constexpr u32 stage_blocks(const ScaledConfig& c) {
  return static_cast<u32>(c.tile_k / kBlockTokens);
}
// MN-major operands: what rows of A and columns of B, or those alone that converters decode, are
// multiplied by in one raw stage: u16 each, block after block of 32 tokens.
constexpr u32 multiplied_rows(const ScaledConfig& c) {
  return static_cast<u32>(c.registers_a ? c.tile_n : c.tile_m + c.tile_n);
}
constexpr u32 multiplier_bytes(const ScaledConfig& c) {
  if (!is_mn_major(c.raw_a) && !is_mn_major(c.raw_b)) return 0;
  return static_cast<u32>(raw_tokens(c) / kBlockTokens) * multiplied_rows(c) * 2;
}
// Of stages: those in turn, or of each raw one.
constexpr u32 multiplier_tables(const ScaledConfig& c) {
  if (multiplier_bytes(c) == 0) return 0;
  return static_cast<u32>(c.registers_a ? c.raw_stages : 2);
}

// Raw stages, and decoded ones, whose barriers are `full` and `empty`.
constexpr SmemTable smem_table(const ScaledConfig& c) {
  const u32 stages = static_cast<u32>(c.stages), raw = static_cast<u32>(c.raw_stages);
  const u32 slots = static_cast<u32>(math_warps(c) * c.ring_slots);
  const u32 decoded_a = c.registers_a ? 0 : stages, checked = checks_range(c) ? raw : 0;
  SmemTable t{};
  t.add({"decoded a", RegionKind::kStage, a_stage_bytes(c), decoded_a, kBoxAlignment});
  t.add({"decoded b", RegionKind::kStage, b_stage_bytes(c), stages, kBoxAlignment});
  t.add({"output ring slot", RegionKind::kOutput, static_cast<u32>(output_box_bytes(c)), slots,
         kBoxAlignment});
  t.add({"key of the sort", RegionKind::kLoan, 4, static_cast<u32>(kMaxOrderedExperts)});
  t.add({"raw a", RegionKind::kStage, static_cast<u32>(raw_a_bytes(c)), raw, raw_alignment(c)});
  t.add({"raw b", RegionKind::kStage, static_cast<u32>(raw_b_bytes(c)), raw, raw_alignment(c)});
  t.add({"scales a", RegionKind::kStage, scale_bytes_a(c), raw, 128});
  t.add({"scales b", RegionKind::kStage, scale_bytes_b(c), raw, 128});
  t.add({"multipliers", RegionKind::kLookup, multiplier_bytes(c), multiplier_tables(c), 16});
  t.add({"columns", RegionKind::kLookup, 4, kColumnCheckpoints, 16});  // common/scale_columns.cuh
  t.add({"work scales", RegionKind::kEntry, 16, kWorkSlots, 16});      // of a tile
  if (!c.registers_a)
    t.add({"flags", RegionKind::kEntry, kFlagBytes, stages, 16});  // kLastOfTokens
  t.add({"range", RegionKind::kEntry, kRangeBytes, checked, 16});  // of a raw stage's scales
  t.add({"largest", RegionKind::kLookup, 4, checked > 0 ? 32u : 0u, 16});  // that a lane has seen
  // Of both operands, two stages in turn.
  t.add({"scales ahead", RegionKind::kStage, scale_bytes_a(c) + scale_bytes_b(c),
         reads_scales_ahead(c) ? 2u : 0u, 128});
  t.add({"work entry", RegionKind::kEntry, kWorkBytes, kWorkSlots, 16});
  // sm90_scaled/pipeline.cuh.
  t.add_barriers("raw full", raw, static_cast<u32>(1 + copier_warps(c)));
  t.add_barriers("raw empty", raw, static_cast<u32>(raw_readers(c)));
  if (checked > 0) t.add_barriers("range known", checked, 1);
  t.add_barriers("full", stages, static_cast<u32>(converter_warps(c)));
  t.add_barriers("empty", stages, static_cast<u32>(math_warps(c)));
  t.add_barriers("readback", slots, 1);
  add_work_barriers(t, static_cast<u32>(queue_readers(c)));
  add_expert_order(t);
  t.total = round_up(t.total, 128u);
  return t;
}

// Most stages of codes that fit beside the decoded ones.
constexpr i32 max_raw_stages(ScaledConfig c) {
  c.raw_stages = 4;
  while (c.raw_stages > 2 && smem_table(c).total > kMaxSharedBytes) --c.raw_stages;
  return c.raw_stages;
}

}  // namespace wgrad::shared
