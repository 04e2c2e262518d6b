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
  u32 is_last;      // kFlagBytes a decoded stage, a u32: 1 where the next one is of other tokens
  u32 work_scales;  // kWorkSlots x 16 bytes: scale factors of a tile
  u32 columns;      // u32 kColumnCheckpoints: scale columns before every so many experts
};

inline constexpr u32 kFlagBytes = 16;

constexpr u32 scale_bytes_a(const ScaledConfig& c) {
  return static_cast<u32>(c.tile_m / kScaleAtomRows * kScaleAtomBytes);
}
constexpr u32 scale_bytes_b(const ScaledConfig& c) {
  return static_cast<u32>(c.tile_n / kScaleAtomRows * kScaleAtomBytes);
}
constexpr u32 stage_blocks(const ScaledConfig& c) {
  return static_cast<u32>(c.tile_k / kBlockTokens);
}
// Of one stage.
constexpr u32 multiplier_bytes(const ScaledConfig& c) {
  const u32 rows = static_cast<u32>(c.tile_m + c.tile_n);
  return is_mn_major(c.raw_a) || is_mn_major(c.raw_b) ? stage_blocks(c) * rows * 2 : 0;
}

inline constexpr u32 SmemLayout::*kBehindTheRing[] = {
    &SmemLayout::full,        &SmemLayout::empty,      &SmemLayout::readback,
    &SmemLayout::parts_full,  &SmemLayout::parts_room, &SmemLayout::parts_read,
    &SmemLayout::turn,        &SmemLayout::work,       &SmemLayout::work_full,
    &SmemLayout::work_empty,  &SmemLayout::claims,     &SmemLayout::claim_told,
    &SmemLayout::claim_heard, &SmemLayout::order,      &SmemLayout::total};

constexpr ScaledSmemLayout smem_layout(const ScaledConfig& c) {
  const u32 raw_stages = static_cast<u32>(c.raw_stages);
  ScaledSmemLayout s{};
  static_cast<SmemLayout&>(s) = smem_layout(static_cast<const Config&>(c));
  const u32 first = s.full;  // after the ring, on kBoxAlignment
  s.raw_a = first;
  s.raw_b = s.raw_a + raw_stages * static_cast<u32>(raw_a_bytes(c));
  s.scales_a = s.raw_b + raw_stages * static_cast<u32>(raw_b_bytes(c));
  s.scales_b = s.scales_a + raw_stages * scale_bytes_a(c);
  s.multipliers = s.scales_b + raw_stages * scale_bytes_b(c);
  s.columns = s.multipliers + 2 * multiplier_bytes(c);
  s.work_scales = s.columns + kColumnCheckpoints * 4;
  s.raw_full = s.work_scales + kWorkSlots * 16;
  s.raw_empty = s.raw_full + raw_stages * kBarrierBytes;
  s.is_last = round_up(s.raw_empty + raw_stages * kBarrierBytes, kFlagBytes);
  const u32 moved = round_up(s.is_last + static_cast<u32>(c.stages) * kFlagBytes, 16u) - first;
  for (const auto offset : kBehindTheRing) s.*offset += moved;
  s.total = round_up(s.total, 128u);
  return s;
}

// Most stages of codes that fit beside the decoded ones.
constexpr i32 max_raw_stages(ScaledConfig c) {
  c.raw_stages = 4;
  while (c.raw_stages > 2 && smem_layout(c).total > kMaxSharedBytes) --c.raw_stages;
  return c.raw_stages;
}

}  // namespace wgrad::shared
