// ScaledConfig: everything that is fixed when a kernel for block-scaled operands is compiled.
#pragma once

#include "wgrad/shared/scaled_params.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::shared {

// The part of a kernel that multiplies and stores is the 16-bit kernel's: `tile_*`, `ring_slots`,
// `output*` of Config. `stages` counts decoded stages, `a` and `b` say how these lie (kMnMajor or
// kKMajor), `input` what they hold.
struct ScaledConfig : Config {
  ElementType element_a = ElementType::kE4m3;
  ElementType element_b = ElementType::kE4m3;
  ScaleType scale = ScaleType::kE8m0;
  i32 vec_size = 32;  // tokens under one scale factor: 32, or 16 of e2m1
  ScaleStorage storage = ScaleStorage::kAtoms;
  bool global_scale = false;
  OperandLayout raw_a = OperandLayout::kKMajor;  // kMnMajor, kKMajor or kKMajorRagged
  OperandLayout raw_b = OperandLayout::kKMajor;
  i32 raw_stages = 3;  // stages of codes and scale factors
  i32 converters = 1;  // warpgroups that decode
  // A is decoded by the warps that multiply, into registers; both operands have the same major.
  // Stages whose scale factors lie near each other are decoded to FP16 (decode_near.cuh), others to
  // `input`.
  bool registers_a = false;

  bool operator==(const ScaledConfig&) const = default;

  // shared/fields.hpp.
  template <typename Visit>
  static constexpr void visit_fields(Visit visit) {
    Config::visit_fields(visit);
#define WGRAD_FIELD(name, origin) visit(field(#name, &ScaledConfig::name, FieldOrigin::origin))
    WGRAD_FIELD(element_a, kProblem);
    WGRAD_FIELD(element_b, kProblem);
    WGRAD_FIELD(scale, kProblem);
    WGRAD_FIELD(vec_size, kProblem);
    WGRAD_FIELD(storage, kProblem);
    WGRAD_FIELD(global_scale, kProblem);
    WGRAD_FIELD(raw_a, kProblem);
    WGRAD_FIELD(raw_b, kProblem);
    WGRAD_FIELD(raw_stages, kDepth);
    WGRAD_FIELD(converters, kChoice);
    WGRAD_FIELD(registers_a, kChoice);
#undef WGRAD_FIELD
  }
};

inline constexpr i32 kRawRowBytes = 128;  // of K-major codes in a raw stage, where registers_a
inline constexpr i32 kBlockTokens = 32;   // of a row that one thread decodes at a time

// Both operands are MN-major and A is decoded in registers.
constexpr bool decodes_columns(const ScaledConfig& c) {
  return c.registers_a && is_mn_major(c.raw_a);
}
// Matrices of pairs of bytes, transposed, give a lane neighbouring rows.
constexpr bool pairs_rows(const ScaledConfig& c) {
  return decodes_columns(c);
}

constexpr bool is_block_scaled(const Config&) {
  return false;
}
constexpr bool is_block_scaled(const ScaledConfig&) {
  return true;
}

// Roles of one CTA: a warpgroup that copies and schedules, then the converters, then those that
// multiply.
constexpr i32 first_math_thread(const ScaledConfig& c) {
  return (1 + c.converters) * kWarpgroupThreads;
}
constexpr i32 threads_per_cta(const ScaledConfig& c) {
  return first_math_thread(c) + math_warpgroups(c) * kWarpgroupThreads;
}
constexpr i32 converter_threads(const ScaledConfig& c) {
  return c.converters * kWarpgroupThreads;
}
constexpr i32 converter_warps(const ScaledConfig& c) {
  return converter_threads(c) / 32;
}
// One warp looks at the scale factors of a raw stage before it is decoded (scale_range.cuh): e4m3
// ones are near each other always.
constexpr bool checks_range(const ScaledConfig& c) {
  return c.registers_a && c.scale == ScaleType::kE8m0;
}
// That warp reads scale factors from device memory itself, a raw stage ahead: what it finds is
// known before the codes are there. Of FP8, whose raw stage has four columns.
constexpr bool reads_scales_ahead(const ScaledConfig& c) {
  return checks_range(c) && element_bits(c.element_a) == 8;
}
// Warps that copy what no tensor map describes: compact scale factors, and K-major rows whose pitch
// is no multiple of a copy unit.
constexpr i32 copier_warps(const ScaledConfig& c) {
  const bool rows = !is_mn_major(c.raw_a) || !is_mn_major(c.raw_b);
  const bool scales = c.storage == ScaleStorage::kCompact && !reads_scales_ahead(c);
  if (!rows && !scales) return 0;
  return checks_range(c) ? 1 : 2;
}
constexpr i32 queue_readers(const ScaledConfig& c) {
  return 1 + copier_warps(c) + (checks_range(c) ? 1 : 0) + converter_warps(c) + math_warps(c);
}

// Warps that read a raw stage.
constexpr i32 raw_readers(const ScaledConfig& c) {
  return converter_warps(c) + (c.registers_a ? math_warps(c) : 0);
}

// Decoded stages begin at the expert's first token: nothing is moved or masked afterwards.
constexpr bool aligns_first_token(const ScaledConfig&) {
  return false;
}
constexpr bool moves_rows(const ScaledConfig&) {
  return false;
}
constexpr bool uses_loader(const ScaledConfig&) {
  return false;
}

// Tokens of a raw stage: one decoded stage, or several: as many as whole K-major rows of the copy
// engine's swizzle have.
constexpr i32 raw_tokens(const ScaledConfig& c) {
  return c.registers_a ? kRawRowBytes * 8 / element_bits(c.element_a) : c.tile_k;
}
// Those that are used: half of them where rows start off a copy unit, which takes more of a row.
constexpr i32 used_raw_tokens(const ScaledConfig& c, bool is_shifted) {
  return is_shifted ? raw_tokens(c) / 2 : raw_tokens(c);
}
constexpr i32 raw_blocks(const ScaledConfig& c, i32 blocks, bool is_shifted) {
  return ceil_div(blocks, used_raw_tokens(c, is_shifted) / c.tile_k);
}
// Bytes of a raw stage's tokens in one row, without and with room for a start off a copy unit. The
// pitch is an odd number of units, or swizzled: eight rows meet no bank twice.
constexpr i32 raw_token_bytes(const ScaledConfig& c, ElementType t) {
  return raw_tokens(c) * element_bits(t) / 8;
}
constexpr i32 raw_pitch(const ScaledConfig& c, ElementType t) {
  return c.registers_a ? kRawRowBytes : raw_token_bytes(c, t) + kCopyUnit;
}
constexpr i32 raw_operand_bytes(const ScaledConfig& c, OperandLayout raw, ElementType t, i32 rows) {
  return is_mn_major(raw) ? rows * raw_tokens(c) : rows * raw_pitch(c, t);
}
constexpr i32 raw_a_bytes(const ScaledConfig& c) {
  return raw_operand_bytes(c, c.raw_a, c.element_a, c.tile_m);
}
constexpr i32 raw_b_bytes(const ScaledConfig& c) {
  return raw_operand_bytes(c, c.raw_b, c.element_b, c.tile_n);
}

// Scale columns of a raw stage, and the atoms of each 128 rows that hold them.
constexpr i32 raw_columns(const ScaledConfig& c) {
  return raw_tokens(c) / c.vec_size;
}
constexpr i32 raw_atoms(const ScaledConfig& c) {
  return ceil_div(raw_columns(c), kScaleAtomColumns);
}
// Of 32 tokens.
constexpr i32 block_columns(const ScaledConfig& c) {
  return kBlockTokens / c.vec_size;
}
constexpr bool is_valid(const ScaledConfig& c) {
  const bool packed_a = c.element_a == ElementType::kE2m1;
  const bool packed_b = c.element_b == ElementType::kE2m1;
  const bool k_major = !is_mn_major(c.raw_a) && !is_mn_major(c.raw_b);
  const bool format = packed_a ? packed_b && k_major && (c.vec_size == 16 || c.vec_size == 32)
                               : !packed_b && c.vec_size == 32 && c.scale == ScaleType::kE8m0;
  const bool halves =
      c.input == (c.scale == ScaleType::kE4m3 ? InputType::kFp16 : InputType::kBf16);
  const bool columns = c.tile_n == 128 || c.tile_n == 256;
  const bool mn_major = is_mn_major(c.raw_a) && is_mn_major(c.raw_b);
  const bool in_registers =
      k_major ? c.tile_m == 128 || c.tile_m == 256 : mn_major && c.tile_m == 256;
  const bool tile = c.tile_k == kTileK &&
                    (c.registers_a ? in_registers && c.tile_n == 128 : c.tile_m == 128 && columns);
  const bool alone = c.cluster_m == 1 && c.split_k == 1 && c.split == WarpgroupSplit::kRows &&
                     c.tail_n == 0 && !c.trace;
  const i32 decoded = c.tile_m + c.tile_n;
  const bool rows =
      c.registers_a ? c.converters == 1 : c.converters >= 1 && decoded % converter_threads(c) == 0;
  const bool layouts =
      is_mn_major(c.a) == is_mn_major(c.raw_a) && is_mn_major(c.b) == is_mn_major(c.raw_b);
  return format && halves && tile && alone && rows && layouts && c.stages >= 2 &&
         c.raw_stages >= 2 && c.ring_slots >= 2 && c.ring_slots <= 4;
}

}  // namespace wgrad::shared
