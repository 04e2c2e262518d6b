// Where a unit's codes and scale factors go: contract, "operands" and "scale storage".
#pragma once

#include "wgrad/quantize/encode.cuh"

namespace wgrad::device {

// K-major: each row's tokens side by side. Codes go through shared memory, so that neighbouring
// lanes store neighbouring bytes and no sector of 32 bytes is stored piece by piece, which would
// cost a read of it.
template <QuantizeConfig kConfig>
struct TokenRows {
  using Codes = LaneCodes<kConfig>;
  static constexpr i32 kBits = element_bits(kConfig.element);
  static constexpr i32 kUnitBytes = unit_bytes(kConfig);
  static constexpr i32 kGroupBytes = kQuantizeWarps * kUnitBytes;

  const QuantizeParams& p;
  const Unit& unit;
  u32 turn;   // this warp's shared memory
  u32 group;  // the CTA's
  u32 warp;

  // Bytes from one row to the next, of tokens that begin in the middle of none.
  WGRAD_DEVICE i64 pitch() const {
    return p.is_ragged != 0 ? i64{unit.expert.end - unit.expert.begin} : p.tokens;
  }
  WGRAD_DEVICE u64 address(i64 row, i64 token) const {
    const i64 own = token - unit.expert.begin;
    const i64 at = p.is_ragged != 0 ? unit.operand.rows * unit.expert.begin + row * pitch() + own
                                    : row * p.tokens + token;
    return unit.operand.elements + u64(at * kBits / 8);
  }
  WGRAD_DEVICE u64 step() const { return u64(pitch() * kBits / 8); }

  // Into rows 2 * lane and 2 * lane + 1 of 64.
  WGRAD_DEVICE void put(const Codes& codes) const {
#pragma unroll
    for (u32 r = 0; r < 2; ++r) {
      const u32 to = turn + (2 * arch::lane_index() + r) * u32(kTurnPitch);
#pragma unroll
      for (i32 i = 0; i < Codes::kWords; ++i)
        arch::store_shared_u32(to + u32(4 * i), codes.word[r][i]);
    }
  }
  // By neighbouring lanes, a byte each.
  WGRAD_DEVICE void store_unit(const Codes& codes) const {
    constexpr i32 kRows = 32 / kUnitBytes;  // at once
    put(codes);
    arch::warp_sync();
    const i32 lane = i32(arch::lane_index()), at = lane % kUnitBytes;
    const i32 bytes = ceil_div(unit.tokens * kBits, 8);
    i64 row = lane / kUnitBytes;
    u64 to = address(unit.row + row, unit.token) + u64(at);
    for (; row < kUnitRows && unit.row + row < unit.operand.rows; row += kRows) {
      if (at < bytes)
        arch::store_global_u8(to,
                              arch::load_shared_u8(turn + u32(row) * u32(kTurnPitch) + u32(at)));
      to += u64(kRows) * step();
    }
    arch::warp_sync();
  }

  // The CTA's units side by side: group_pitch(kConfig) bytes from row to row.
  WGRAD_DEVICE void put_group(const Codes& codes) const {
#pragma unroll
    for (u32 r = 0; r < 2; ++r) {
      const u32 row = 2 * arch::lane_index() + r;
      const u32 to = group + row * u32(group_pitch(kConfig)) + warp * u32(kUnitBytes);
#pragma unroll
      for (i32 i = 0; i < kUnitBytes / 16; ++i) {
        const u32* w = codes.word[r] + 4 * i;
        arch::store_shared(to + u32(16 * i), {{w[0], w[1], w[2], w[3]}});
      }
    }
  }
  // 16 bytes a lane.
  WGRAD_DEVICE void store_chunks(u64 first) const {
    constexpr u32 kLanes = kGroupBytes / 16, kRows = 32 / kLanes;
    const u32 lane = arch::lane_index(), at = lane % kLanes * 16;
#pragma unroll
    for (u32 i = 0; i < u32(kUnitRows) / kQuantizeWarps; i += kRows) {
      const u32 row = warp * (kUnitRows / kQuantizeWarps) + i + lane / kLanes;
      if (unit.row + row >= unit.operand.rows) continue;
      arch::store_global(first + row * step() + at,
                         arch::load_shared(group + row * u32(group_pitch(kConfig)) + at));
    }
  }
  // The same of rows that begin anywhere: 16 bytes a lane where they are whole and aligned, and the
  // bytes before the first of them and behind the last one by one.
  WGRAD_DEVICE void store_shifted(u64 first) const {
    constexpr u32 kLanes = kGroupBytes / 16, kRows = 32 / kLanes;
    const u32 lane = arch::lane_index() % kLanes;
#pragma unroll 1
    for (u32 i = 0; i < u32(kUnitRows) / kQuantizeWarps; i += kRows) {
      const u32 row = warp * (kUnitRows / kQuantizeWarps) + i + arch::lane_index() / kLanes;
      if (unit.row + row >= unit.operand.rows) continue;
      const u64 to = first + row * step();
      const u32 from = group + row * u32(group_pitch(kConfig));
      const u32 head = u32(0 - to) % 16, at = head + 16 * lane;
      if (at + 16 <= u32(kGroupBytes))
        arch::store_global(to + at, shifted_chunk(from + at / 4 * 4, 8 * (at % 4)));
      if (head == 0) continue;
#pragma unroll
      for (u32 edge = lane; edge < 16; edge += kLanes) {
        const u32 byte = edge < head ? edge : u32(kGroupBytes) - 16 + edge;
        arch::store_global_u8(to + byte, arch::load_shared_u8(from + byte));
      }
    }
  }
  // 16 bytes that begin `bits` bits behind a word.
  WGRAD_DEVICE static arch::Chunk shifted_chunk(u32 from, u32 bits) {
    arch::Chunk c{};
    u32 low = arch::load_shared_u32(from);
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
      const u32 high = arch::load_shared_u32(from + 4 * i + 4);
      c.word[i] = u32((u64{high} << 32 | low) >> bits);
      low = high;
    }
    return c;
  }
  // Once all warps have put theirs.
  WGRAD_DEVICE void store_group() const {
    const u64 first = address(unit.row, unit.token - i64{warp} * kUnitTokens);
    if ((first | step()) % 16 == 0) {
      store_chunks(first);
    } else {
      store_shifted(first);
    }
  }
};

// MN-major FP8: each token's rows side by side.
template <QuantizeConfig kConfig>
struct TokenColumns {
  const Unit& unit;

  WGRAD_DEVICE void store(const LaneCodes<kConfig>& codes, i64 row) const {
    const i64 rows = unit.operand.rows;
    if (row >= rows) return;
    u64 to = unit.operand.elements + u64(unit.token * rows + row);
    const bool in_pairs = ((unit.operand.elements | u64(rows)) & 1) == 0;
#pragma unroll
    for (i32 t = 0; t < kUnitTokens; ++t, to += u64(rows)) {
      if (t >= unit.tokens) continue;
      const u32 low = codes.word[0][t / 4] >> (8 * (t % 4)) & 0xffu;
      const u32 high = codes.word[1][t / 4] >> (8 * (t % 4)) & 0xffu;
      if (in_pairs) {
        arch::store_global_u16(to, low | high << 8);
      } else {
        arch::store_global_u8(to, low);
        if (row + 1 < rows) arch::store_global_u8(to + 1, high);
      }
    }
  }
};

struct ScaleColumns {
  static constexpr i64 kAtomRows = 128, kAtomCols = 4, kAtomBytes = 512;

  const QuantizeParams& p;
  const Unit& unit;

  WGRAD_DEVICE i32 columns() const {  // of the expert, padding included
    return (unit.is_rest ? i32(p.scale_cols) : unit.columns_end) - unit.expert.first_col;
  }
  WGRAD_DEVICE u64 address(i64 row, i64 col) const {
    const i64 before = unit.expert.first_col;
    if (p.is_compact != 0) return unit.operand.scales + u64(row * p.scale_cols + before + col);
    const i64 atom = row / kAtomRows * (columns() / kAtomCols) + col / kAtomCols;
    const i64 in_atom = row % 32 * 16 + row / 32 % 4 * 4 + col % kAtomCols;
    const i64 base = round_up(unit.operand.rows, kAtomRows) * before;
    return unit.operand.scales + u64(base + atom * kAtomBytes + in_atom);
  }

  // The scale factors of one row in this unit, of which the expert has as many as tokens ask; and
  // the padding behind the expert's last.
  template <i32 kScales>
  WGRAD_DEVICE void store(const u32 (&scale)[kScales], i64 row) const {
    const bool is_inside = row < unit.operand.rows;
    if (p.is_compact != 0 && !is_inside) return;
    const i32 first = unit.unit * kScales, total = columns();
    const i32 end = unit.is_last ? total : min_of(first + kScales, total);
    const i32 real = unit.is_rest || !is_inside ? 0 : ceil_div(unit.tokens, p.vec_size);
    u32 code[kScales];
#pragma unroll
    for (i32 i = 0; i < kScales; ++i) code[i] = i < real ? scale[i] : p.padding;
    if (kScales == 2 && p.is_compact == 0 && first + 2 <= end) {
      arch::store_global_u16(address(row, first), code[0] | code[kScales - 1] << 8);
    } else {
#pragma unroll
      for (i32 i = 0; i < kScales; ++i)
        if (first + i < end) arch::store_global_u8(address(row, first + i), code[i]);
    }
    for (i32 col = first + kScales; col < end; ++col)
      arch::store_global_u8(address(row, col), p.padding);
  }
};

}  // namespace wgrad::device
