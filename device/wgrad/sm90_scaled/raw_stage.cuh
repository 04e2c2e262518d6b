// What a converter reads: codes and scale factors of a raw stage, and where decoded elements go.
#pragma once

#include "wgrad/common/k_major_rows.cuh"
#include "wgrad/common/tile.cuh"
#include "wgrad/sm90_scaled/decode.cuh"
#include "wgrad/sm90_scaled/pipeline.cuh"

namespace wgrad::device {

// One operand of a raw stage and of the decoded stage that it becomes. Rows are those of A, or
// columns of B; tokens count from the raw stage's first.
struct StageOperand {
  u32 codes;  // shared memory
  u32 scales;
  u32 tile;
  u32 shift;        // bytes of K-major row 0 before the first token, modulo a unit
  u32 turn;         // and of each row after it more
  u32 column;       // of the first token among the four of an atom
  i32 rows;         // that are in the matrix
  i32 tokens;       // that are the expert's
  bool is_shifted;  // some K-major row starts off a unit
};

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

  static constexpr u32 kAtoms = u32(raw_atoms(kConfig));

  // Four scale codes of a row in the matrix: of the first token and those after it; `atom` > 0:
  // whole atoms further.
  WGRAD_DEVICE static u32 scale_codes(const StageOperand& s, u32 row, u32 atom = 0) {
    const u32 at = s.scales + scale_offset<kAtoms>(row) + atom * kScaleAtomBytes;
    return arch::load_shared_u32(at) >> (8 * s.column);
  }
  WGRAD_DEVICE static u32 scale(const StageOperand& s, u32 row, u32 token) {
    const u32 column = s.column + token / kVec;
    return arch::load_shared_u8(s.scales + scale_offset<kAtoms>(row) +
                                column / kScaleAtomColumns * kScaleAtomBytes +
                                column % kScaleAtomColumns);
  }

  // One code, wherever it lies.
  WGRAD_DEVICE static u32 code(const StageOperand& s, u32 row, u32 token) {
    if constexpr (is_mn_major(kRaw)) {
      const u32 box = s.codes + row / 128 * u32(kSwizzleBytes * raw_tokens(kConfig));
      return arch::load_shared_u8(swizzled(box, token, row % 128 / 16) + row % 16);
    } else if constexpr (kConfig.registers_a) {
      const u32 byte = (Codes::kPacked ? token / 2 : token) + row_shift(s, row);
      const u32 unit = swizzled(s.codes, row, byte / u32{kCopyUnit});
      const u32 codes = arch::load_shared_u8(unit + byte % u32{kCopyUnit});
      return Codes::kPacked ? codes >> (token % 2 * 4) & 0xf : codes;
    } else {
      const u32 at = s.codes + row * u32(raw_pitch(kConfig, kElement)) + row_shift(s, row);
      if constexpr (!Codes::kPacked) return arch::load_shared_u8(at + token);
      return arch::load_shared_u8(at + token / 2) >> (token % 2 * 4) & 0xf;
    }
  }

  // A code under its scale is zero, or one rendering holds it.
  WGRAD_DEVICE static bool needs_renderings(const StageOperand& s, u32 row, u32 token) {
    if (Codes::is_direct(scale(s, row, token))) return false;
    constexpr u32 kMagnitude = Codes::kPacked ? 0x7 : 0x7f;
    return (code(s, row, token) & kMagnitude) != 0;
  }

  // Bits of one element, `bits(code, scale)` of it; zero outside the matrix and the expert.
  template <typename Bits>
  WGRAD_DEVICE static u32 element(const StageOperand& s, u32 row, u32 token, const Bits& bits) {
    if (i32(row) >= s.rows || i32(token) >= s.tokens) return 0;
    return bits(code(s, row, token), scale(s, row, token));
  }
};

template <KernelConfig auto kConfig, bool kOfA>
using CodeRows =
    KMajorRows<Side<kConfig, kOfA>::kRaw, element_bits(Side<kConfig, kOfA>::kElement), kOfA>;

// Whether rows of an expert's codes start off a copy unit: raw stages are used by halves then.
template <KernelConfig auto kConfig>
WGRAD_DEVICE bool are_shifted(const Cta<kConfig>& cta, TokenRange tokens) {
  if constexpr (!kConfig.registers_a || decodes_columns(kConfig)) return false;
  const ScaledParams& p = scaled_params(cta);
  return CodeRows<kConfig, true>(p, tokens).are_shifted() ||
         CodeRows<kConfig, false>(p, tokens).are_shifted();
}

// Without what only the codes' places follow. `token`: the raw stage's first.
template <KernelConfig auto kConfig, bool kOfA>
WGRAD_DEVICE StageOperand scales_of_stage(const Cta<kConfig>& cta,
                                          const ScaledPipeline<kConfig>& pipeline, const Work& w,
                                          i32 token, u32 raw, bool is_shifted) {
  StageOperand s{};
  s.codes = kOfA ? pipeline.raw_a(raw) : pipeline.raw_b(raw);
  s.scales = kOfA ? pipeline.scales_a(raw) : pipeline.scales_b(raw);
  s.column = u32(token - w.tokens.begin) / u32(kConfig.vec_size) % u32{kScaleAtomColumns};
  s.rows = kOfA ? cta.params.m - w.m0 : cta.params.n - w.n0;
  s.tokens = w.tokens.end - token;
  s.is_shifted = is_shifted;
  return s;
}

template <KernelConfig auto kConfig, bool kOfA>
WGRAD_DEVICE StageOperand stage_operand(const Cta<kConfig>& cta,
                                        const ScaledPipeline<kConfig>& pipeline, const Work& w,
                                        i32 token, u32 raw, bool is_shifted = false) {
  StageOperand s = scales_of_stage<kConfig, kOfA>(cta, pipeline, w, token, raw, is_shifted);
  if constexpr (!is_mn_major(Side<kConfig, kOfA>::kRaw)) {  // a stage is whole units
    const CodeRows<kConfig, kOfA> rows(scaled_params(cta), w.tokens);
    s.shift = u32(rows.start(u32(kOfA ? w.m0 : w.n0)));
    s.turn = u32(rows.pitch);
  }
  return s;
}

}  // namespace wgrad::device
