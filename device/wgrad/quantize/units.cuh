// Which warp quantises what: units of 32 tokens of an expert and 64 rows, dealt out to the warps of
// a persistent grid; those of one CTA are neighbours along the tokens, those of neighbouring CTAs
// along the rows.
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/quantize/params.hpp"

namespace wgrad::device {

WGRAD_DEVICE QuantizeExpert expert_entry(const QuantizeParams& p, i32 expert) {
  const arch::Chunk c = arch::stream_chunk(p.table + sizeof(QuantizeExpert) * u64(expert));
  return {i32(c.word[0]), i32(c.word[1]), i32(c.word[2]), i32(c.word[3])};
}

// Follows units that never go back to the experts that they belong to.
struct ExpertCursor {
  i32 expert = -1;
  QuantizeExpert entry{};
  QuantizeExpert next{};

  WGRAD_DEVICE void set(const QuantizeParams& p, i32 to) {
    expert = to;
    entry = expert_entry(p, to);
    next = expert_entry(p, to + 1);
  }
  // The last expert of those that begin at or before the unit.
  WGRAD_DEVICE void find(const QuantizeParams& p, i32 unit) {
    i32 low = 0, high = p.experts + 1;  // low begins at or before it, high after it
    while (high - low > 1) {
      const i32 middle = low + (high - low) / 2;
      (expert_entry(p, middle).first_unit <= unit ? low : high) = middle;
    }
    set(p, low);
  }
  WGRAD_DEVICE void seek(const QuantizeParams& p, i32 unit) {
    if (expert < 0) find(p, unit);
    while (unit >= next.first_unit) set(p, expert + 1);
  }
};

// 32 tokens of one expert, or of what follows the experts, and 64 rows of one operand.
struct Unit {
  const QuantizeOperand& operand;
  const QuantizeExpert& expert;
  i32 expert_index;
  i32 columns_end;   // first scale column of the next expert, from the first of all
  i64 row;           // the first
  i64 token;         // the first
  i32 tokens;        // 0 to 32
  i32 unit;          // of the expert
  bool is_any;       // else all of it is meaningless: the CTA has more warps than there are units
  bool is_rest;      // what follows the experts
  bool is_last;      // of the expert
  bool is_in_group;  // the CTA's warps have neighbouring units of one expert, all of 32 tokens
};

// Calls visit(unit) for each of this warp's, as often in all warps of a CTA.
template <typename Visit>
WGRAD_DEVICE void for_each_unit(const QuantizeParams& p, const Visit& visit) {
  constexpr i32 kWarps = kQuantizeWarps;
  const u32 warp = arch::warp_uniform(arch::thread_index() / 32);
  const i32 units = expert_entry(p, p.experts + 1).first_unit;
  const i64 first_tiles = p.operand[0].row_tiles;
  const i64 tiles = first_tiles + (p.operands > 1 ? p.operand[1].row_tiles : 0);
  if (tiles == 0) return;
  const i64 step_group = i64(arch::block_count()) / tiles;
  const i64 step_tile = i64(arch::block_count()) % tiles;
  i64 group = i64(arch::block_index()) / tiles, tile = i64(arch::block_index()) % tiles;
  ExpertCursor at;
  while (group * kWarps < units) {
    const i32 first = i32(group * kWarps);
    const bool is_any = i64{first} + warp < units;
    const i32 unit = is_any ? first + i32(warp) : first;
    at.seek(p, unit);
    const bool second = tile >= first_tiles;
    const i32 own = unit - at.entry.first_unit;
    const i64 token = at.entry.begin + i64{own} * kUnitTokens;
    const i64 group_end = token + (kWarps - i64{warp}) * kUnitTokens;
    const i64 left = is_any ? at.entry.end - token : 0;
    visit(Unit{.operand = p.operand[second ? 1 : 0],
               .expert = at.entry,
               .expert_index = at.expert,
               .columns_end = at.next.first_col,
               .row = (second ? tile - first_tiles : tile) * kUnitRows,
               .token = token,
               .tokens = i32(min_of(max_of(left, i64{0}), i64{kUnitTokens})),
               .unit = own,
               .is_any = is_any,
               .is_rest = at.expert == p.experts,
               .is_last = unit + 1 == at.next.first_unit,
               .is_in_group = i64{first} + kWarps <= units && first >= at.entry.first_unit &&
                              group_end <= at.entry.end});
    tile += step_tile;
    group += step_group;
    if (tile >= tiles) {
      tile -= tiles;
      ++group;
    }
  }
}

}  // namespace wgrad::device
