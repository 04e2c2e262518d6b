// Where everything lies in the shared memory of a CTA that decodes.
#pragma once

#include "wgrad/sm90/smem.hpp"
#include "wgrad/sm90_scaled/config.hpp"

namespace wgrad::shared {

// Beside the stages, the ring and the barriers of SmemLayout, whose `full` and `empty` are those of
// decoded stages.
struct ScaledSmemLayout : SmemLayout {
  u32 raw_a;  // raw_stages x rows of codes
  u32 raw_b;
  u32 scales_a;     // raw_stages x atoms: 1
  u32 scales_b;     // raw_stages x atoms: tile_n / 128
  u32 multipliers;  // MN-major: 2 stages x blocks of 32 tokens x u16 a row of A and column of B
  u32 raw_full;     // raw_stages mbarriers: codes and scale factors have landed
  u32 raw_empty;    // raw_stages mbarriers: they are no longer read
  u32 flags;        // kFlagBytes a decoded stage, a u32: kLastOfTokens, kIsRendered
  u32 work_scales;  // kWorkSlots x 16 bytes: scale factors of a tile
  u32 columns;      // u32 kColumnCheckpoints: scale columns before every so many experts
};

inline constexpr u32 kFlagBytes = 16;
inline constexpr u32 kLastOfTokens = 1;  // the next decoded stage is of other tokens
inline constexpr u32 kIsRendered = 2;    // A is decoded too, in its order, where registers_a

constexpr u32 scale_bytes_a(const ScaledConfig& c) {
  return static_cast<u32>(c.tile_m / kScaleAtomRows * raw_atoms(c) * kScaleAtomBytes);
}
constexpr u32 scale_bytes_b(const ScaledConfig& c) {
  return static_cast<u32>(c.tile_n / kScaleAtomRows * raw_atoms(c) * kScaleAtomBytes);
}
// Decoded tiles of A: one a stage, or one for all renderings.
constexpr u32 decoded_a_tiles(const ScaledConfig& c) {
  return c.registers_a ? 1 : static_cast<u32>(c.stages);
}
constexpr u32 stage_blocks(const ScaledConfig& c) {
  return static_cast<u32>(c.tile_k / kBlockTokens);
}
// Of one stage.
constexpr u32 multiplier_bytes(const ScaledConfig& c) {
  const u32 rows = static_cast<u32>(c.tile_m + c.tile_n);
  return is_mn_major(c.raw_a) || is_mn_major(c.raw_b) ? stage_blocks(c) * rows * 2 : 0;
}

constexpr ScaledSmemLayout smem_layout(const ScaledConfig& c) {
  const u32 stages = static_cast<u32>(c.stages), raw_stages = static_cast<u32>(c.raw_stages);
  const u32 slots = static_cast<u32>(math_warps(c) * c.ring_slots);
  ScaledSmemLayout s{};
  s.b = s.a + decoded_a_tiles(c) * a_stage_bytes(c);
  s.ring = s.b + stages * b_stage_bytes(c);
  s.raw_a = s.ring + slots * static_cast<u32>(output_box_bytes(c));
  s.raw_b = s.raw_a + raw_stages * static_cast<u32>(raw_a_bytes(c));
  s.scales_a = s.raw_b + raw_stages * static_cast<u32>(raw_b_bytes(c));
  s.scales_b = s.scales_a + raw_stages * scale_bytes_a(c);
  s.multipliers = s.scales_b + raw_stages * scale_bytes_b(c);
  s.columns = s.multipliers + 2 * multiplier_bytes(c);
  s.work_scales = s.columns + kColumnCheckpoints * 4;
  s.flags = s.work_scales + kWorkSlots * 16;
  s.work = s.flags + stages * kFlagBytes;
  s.raw_full = s.work + kWorkSlots * kWorkBytes;
  s.raw_empty = s.raw_full + raw_stages * kBarrierBytes;
  s.full = s.raw_empty + raw_stages * kBarrierBytes;
  s.empty = s.full + stages * kBarrierBytes;
  s.readback = s.empty + stages * kBarrierBytes;
  s.work_full = s.readback + slots * kBarrierBytes;
  s.work_empty = s.work_full + kWorkSlots * kBarrierBytes;
  s.order = s.work_empty + kWorkSlots * kBarrierBytes;
  s.total = round_up(s.order + static_cast<u32>(kMaxOrderedExperts) * 2u, 128u);
  return s;
}

// Most stages of codes that fit beside the decoded ones.
constexpr i32 max_raw_stages(ScaledConfig c) {
  c.raw_stages = 4;
  while (c.raw_stages > 2 && smem_layout(c).total > kMaxSharedBytes) --c.raw_stages;
  return c.raw_stages;
}

}  // namespace wgrad::shared
