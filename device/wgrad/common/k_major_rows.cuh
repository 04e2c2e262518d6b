// K-major codes of block-scaled operands: rows of any pitch, which begin at any byte.
#pragma once

#include "wgrad/common/tile.cuh"
#include "wgrad/shared/scaled_params.hpp"
#include "wgrad/shared/schedule.hpp"

namespace wgrad::device {

// Where an expert's K-major rows of A (or B) lie, in bytes from the operand's start, which lies on
// a unit. kBits: of a code.
template <OperandLayout kLayout, i32 kBits, bool kOfA>
struct KMajorRows {
  u64 operand;
  u64 first;  // of row 0
  u64 pitch;
  u64 length;  // of the expert's tokens, a half byte counted whole
  bool are_copied;

  WGRAD_DEVICE static bool copied(const ScaledParams& p) {
    if constexpr (is_mn_major(kLayout)) return false;
    if constexpr (kLayout == OperandLayout::kKMajorRagged) return true;
    return (kOfA ? p.rows_a : p.rows_b) != 0;
  }
  WGRAD_DEVICE static u64 bytes(i64 tokens) { return u64(tokens) * u64{kBits} / 8; }
  WGRAD_DEVICE KMajorRows(const ScaledParams& p, TokenRange tokens)
      : operand(kOfA ? p.a : p.b),
        length(bytes(i64{tokens.end} - tokens.begin + (kBits == 4 ? 1 : 0))),
        are_copied(copied(p)) {
    constexpr bool kRagged = kLayout == OperandLayout::kKMajorRagged;
    const i64 extent = kOfA ? p.m : p.n;
    first = bytes(kRagged ? extent * tokens.begin : i64{tokens.begin});
    pitch = kRagged ? length : bytes(kOfA ? p.ld_a : p.ld_b);
  }
  WGRAD_DEVICE u64 start(u32 row) const { return first + row * pitch; }
  WGRAD_DEVICE bool are_shifted() const { return (first | pitch) % u64{kCopyUnit} != 0; }
};

// Thread `thread` of kThreads copies rows [row, row + kRows), kUnits units of each: those that hold
// tokens from the expert's `token` on. Nothing is read past the expert's last: zeros take its
// place. kSwizzled: to where the copy engine would write rows of 128 bytes.
template <u32 kRows, u32 kUnits, bool kSwizzled, u32 kThreads, typename Rows>
WGRAD_DEVICE void copy_rows(u32 target, const Rows& rows, i32 row, i32 extent, i32 token,
                            u32 thread) {
  const u64 skipped = Rows::bytes(token);
#pragma unroll 1
  for (u32 i = thread; i < kRows * kUnits; i += kThreads) {
    const u32 r = i / kUnits, unit = i % kUnits;
    const u64 start = rows.start(u32(row) + r), end = start + rows.length;
    const u64 at = start - start % u64{kCopyUnit} + skipped + u64(unit * u32{kCopyUnit});
    const bool any = row + i32(r) < extent && at < end;
    const u32 bytes = any ? u32(min_of(end - at, u64{kCopyUnit})) : 0;
    const u32 to = kSwizzled ? swizzled(target, r, unit) : target + i * u32{kCopyUnit};
    arch::copy_async(to, rows.operand + (any ? at : 0), bytes);
  }
}

}  // namespace wgrad::device
