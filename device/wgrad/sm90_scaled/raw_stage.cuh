// What a converter reads: codes and scale factors of a raw stage, and where decoded elements go.
#pragma once

#include "wgrad/common/tile.cuh"
#include "wgrad/sm90_scaled/columns.cuh"
#include "wgrad/sm90_scaled/decode.cuh"
#include "wgrad/sm90_scaled/pipeline.cuh"

namespace wgrad::device {

// One operand of a raw stage and of the decoded stage that it becomes. Rows are those of A, or
// columns of B.
struct StageOperand {
  u32 codes;  // shared memory
  u32 scales;
  u32 tile;
  u32 shift;   // bytes of K-major row 0 before the stage's first token, modulo a unit
  u32 turn;    // and of each row after it more
  u32 column;  // of the stage's first token among the four of an atom
  i32 rows;    // that are in the matrix
  i32 tokens;  // that are the expert's
};

// Four scale codes of a row, from the stage's first token on; of a row in the matrix.
WGRAD_DEVICE u32 scale_codes(const StageOperand& s, u32 row) {
  return arch::load_shared_u32(s.scales + scale_offset(row)) >> (8 * s.column);
}

// Bytes of a K-major row before the stage's first token.
WGRAD_DEVICE u32 row_shift(const StageOperand& s, u32 row) {
  return (s.shift + row * s.turn) % u32{kCopyUnit};
}

// Compile-time facts of an operand's side.
template <KernelConfig auto kConfig, bool kOfA>
struct Side {
  static constexpr ElementType kElement = kOfA ? kConfig.element_a : kConfig.element_b;
  static constexpr OperandLayout kRaw = kOfA ? kConfig.raw_a : kConfig.raw_b;
  static constexpr u32 kRows = u32(kOfA ? kConfig.tile_m : kConfig.tile_n);
  static constexpr u32 kVec = u32(kConfig.vec_size);
  using Codes = Decoder<kElement, kConfig.scale>;

  // Scale code of a token of the stage.
  WGRAD_DEVICE static u32 scale_of(u32 codes, u32 token) {
    return codes >> (8 * (token / kVec)) & 0xff;
  }

  // One code, wherever it lies.
  WGRAD_DEVICE static u32 code(const StageOperand& s, u32 row, u32 token) {
    if constexpr (is_mn_major(kRaw)) {
      const u32 box = s.codes + row / 128 * u32(kSwizzleBytes * kConfig.tile_k);
      return arch::load_shared_u8(swizzled(box, token, row % 128 / 16) + row % 16);
    } else {
      const u32 at = s.codes + row * u32(raw_pitch(kConfig, kElement)) + row_shift(s, row);
      if constexpr (!Codes::kPacked) return arch::load_shared_u8(at + token);
      return arch::load_shared_u8(at + token / 2) >> (token % 2 * 4) & 0xf;
    }
  }

  // A code under its scale is zero, or one rendering holds it.
  WGRAD_DEVICE static bool needs_renderings(const StageOperand& s, u32 row, u32 token) {
    if (Codes::is_direct(scale_of(scale_codes(s, row), token))) return false;
    constexpr u32 kMagnitude = Codes::kPacked ? 0x7 : 0x7f;
    return (code(s, row, token) & kMagnitude) != 0;
  }

  // Bits of one element, `bits(code, scale)` of it; zero outside the matrix and the expert.
  template <typename Bits>
  WGRAD_DEVICE static u32 element(const StageOperand& s, u32 row, u32 token, const Bits& bits) {
    if (i32(row) >= s.rows || i32(token) >= s.tokens) return 0;
    return bits(code(s, row, token), scale_of(scale_codes(s, row), token));
  }
};

// Where an expert's K-major rows lie, in bytes from the operand's start, which lies on a unit.
template <KernelConfig auto kConfig, bool kOfA>
struct KMajorRows {
  using S = Side<kConfig, kOfA>;
  u64 operand;
  u64 first;  // of row 0
  u64 pitch;
  u64 length;  // of the expert's tokens, a half byte counted whole
  bool are_copied;

  WGRAD_DEVICE static bool copied(const ScaledParams& p) {
    if constexpr (is_mn_major(S::kRaw)) return false;
    if constexpr (S::kRaw == OperandLayout::kKMajorRagged) return true;
    return (kOfA ? p.rows_a : p.rows_b) != 0;
  }
  WGRAD_DEVICE static u64 bytes(i64 tokens) {
    return u64(tokens) * u64(element_bits(S::kElement)) / 8;
  }
  WGRAD_DEVICE KMajorRows(const ScaledParams& p, TokenRange tokens)
      : operand(kOfA ? p.a : p.b),
        length(bytes(i64{tokens.end} - tokens.begin + (S::Codes::kPacked ? 1 : 0))),
        are_copied(copied(p)) {
    constexpr bool kRagged = S::kRaw == OperandLayout::kKMajorRagged;
    const i64 extent = kOfA ? p.m : p.n;
    first = bytes(kRagged ? extent * tokens.begin : i64{tokens.begin});
    pitch = kRagged ? length : bytes(kOfA ? p.ld_a : p.ld_b);
  }
  WGRAD_DEVICE u64 start(u32 row) const { return first + row * pitch; }
};

}  // namespace wgrad::device
