// Config: everything that is fixed when an SM 10.0 or 10.3 kernel for block-scaled operands
// is compiled. A structural type, so that it can be a template argument.
#pragma once

#include "wgrad/shared/fields.hpp"
#include "wgrad/shared/kernel_config.hpp"
#include "wgrad/shared/mma_kind.hpp"
#include "wgrad/shared/scaled_params.hpp"

namespace wgrad::shared::sm100_scaled {

enum class CodeWidth : u8 { kByte, kNibble };

constexpr i32 bits_of(CodeWidth width) {
  return width == CodeWidth::kByte ? 8 : 4;
}
constexpr const char* name_of(CodeWidth width) {
  switch (width) {
    case CodeWidth::kByte:
      return "sm100_scaled::CodeWidth::kByte";
    case CodeWidth::kNibble:
      return "sm100_scaled::CodeWidth::kNibble";
  }
  return nullptr;
}

struct Config {
  // NOLINTBEGIN(readability-identifier-naming): fields of other families' configs
  static constexpr i32 split_k = 1;    // CTAs that share an expert's tokens: none do
  static constexpr i32 cluster_m = 1;  // no CTA multiplies with another
  static constexpr bool trace = false;
  // NOLINTEND(readability-identifier-naming)

  i32 tile_m = 128;    // rows of the output tile: the lanes of tensor memory
  i32 tile_n = 256;    // 128, 256
  i32 tile_k = 128;    // tokens a stage: 128 bytes of a K-major row
  i32 stages = 3;      // of codes and scale factors
  i32 ring_slots = 2;  // output boxes (32 rows x 128 bytes) for each epilogue warp
  CodeWidth input = CodeWidth::kByte;
  OutputType output = OutputType::kBf16;
  OperandLayout a = OperandLayout::kKMajor;  // kMnMajor, kKMajor or kKMajorRagged
  OperandLayout b = OperandLayout::kKMajor;
  ElementType element_a = ElementType::kE4m3;
  ElementType element_b = ElementType::kE4m3;
  ScaleType scale = ScaleType::kE8m0;
  i32 vec_size = 32;  // tokens under one scale factor: 32, or 16 of e2m1
  ScaleStorage storage = ScaleStorage::kAtoms;
  bool global_scale = false;
  OutputMode output_mode = OutputMode::kDense;
  bool accumulate = false;
  i32 prefetch_boxes =
      4;  // FP32 accumulate: destination boxes prefetched into L2 ahead of the adds
  bool partial_columns =
      false;  // n * output_bytes % 16 != 0: the last columns are stored one by one

  bool operator==(const Config&) const = default;

  // shared/fields.hpp.
  template <typename Visit>
  static constexpr void visit_fields(Visit visit) {
#define WGRAD_FIELD(name, origin) visit(field(#name, &Config::name, FieldOrigin::origin))
    WGRAD_FIELD(tile_m, kChoice);
    WGRAD_FIELD(tile_n, kChoice);
    WGRAD_FIELD(tile_k, kDepth);
    WGRAD_FIELD(stages, kDepth);
    WGRAD_FIELD(ring_slots, kDepth);
    WGRAD_FIELD(input, kProblem);
    WGRAD_FIELD(output, kProblem);
    WGRAD_FIELD(a, kProblem);
    WGRAD_FIELD(b, kProblem);
    WGRAD_FIELD(element_a, kProblem);
    WGRAD_FIELD(element_b, kProblem);
    WGRAD_FIELD(scale, kProblem);
    WGRAD_FIELD(vec_size, kProblem);
    WGRAD_FIELD(storage, kProblem);
    WGRAD_FIELD(global_scale, kProblem);
    WGRAD_FIELD(output_mode, kProblem);
    WGRAD_FIELD(accumulate, kProblem);
    WGRAD_FIELD(prefetch_boxes, kDepth);
    WGRAD_FIELD(partial_columns, kProblem);
#undef WGRAD_FIELD
  }
};
static_assert(visits_every_field<Config>(), "a field that visit_fields does not name");

constexpr bool is_block_scaled(const Config&) {
  return true;
}

// Every mxf4 with a scale factor for 16 tokens is an mxf4nvf4, e8m0 ones too.
constexpr MmaKind mma_kind(const Config& c) {
  if (c.input == CodeWidth::kByte) return MmaKind::kMxf8f6f4;
  return c.vec_size == 32 ? MmaKind::kMxf4 : MmaKind::kMxf4nvf4;
}
// Of a stage: instructions, columns of scale factors and the atoms of each 128 rows that hold them.
constexpr i32 stage_steps(const Config& c) {
  return c.tile_k / static_cast<i32>(mma_depth(mma_kind(c)));
}
constexpr i32 stage_columns(const Config& c) {
  return c.tile_k / c.vec_size;
}
constexpr i32 stage_atoms(const Config& c) {
  return stage_columns(c) / kScaleAtomColumns;
}
// Of 128 rows of B.
constexpr i32 b_blocks(const Config& c) {
  return c.tile_n / kScaleAtomRows;
}
constexpr u32 scale_bytes_a(const Config& c) {
  return static_cast<u32>(stage_atoms(c) * kScaleAtomBytes);
}
constexpr u32 scale_bytes_b(const Config& c) {
  return static_cast<u32>(b_blocks(c)) * scale_bytes_a(c);
}

// Tensor memory: the accumulators, then columns of scale factors for each stage, those of B first.
// Two accumulators of 256 columns would leave none.
inline constexpr i32 kAtomColumns = 4;  // of tensor memory, of an atom
inline constexpr u32 kScaledTensorColumns = 512;
constexpr i32 accumulators(const Config& c) {
  return c.tile_n == 256 ? 1 : 2;
}
constexpr u32 scale_columns_b(const Config& c) {  // where they begin
  return static_cast<u32>(accumulators(c) * c.tile_n);
}
constexpr u32 scale_columns_a(const Config& c) {
  return scale_columns_b(c) +
         static_cast<u32>(c.stages * stage_atoms(c) * b_blocks(c) * kAtomColumns);
}
constexpr u32 used_tensor_columns(const Config& c) {
  return scale_columns_a(c) + static_cast<u32>(c.stages * stage_atoms(c) * kAtomColumns);
}

// Roles of one CTA, warp after warp: one thread that drives the copy engine, one that schedules,
// two warps that copy what no tensor map describes, if there is any; the epilogue's four warps; one
// that multiplies; four that put K-major stages right before it, if there are any.
namespace roles {
inline constexpr u32 kScheduler = 1, kFirstCopier = 2, kFirstEpilogue = 4, kMultiplier = 8;
inline constexpr u32 kFirstPreparation = 9, kPreparationWarps = 4;
}  // namespace roles

constexpr bool prepares_stages(const Config& c) {
  return !is_mn_major(c.a) || !is_mn_major(c.b);
}
constexpr i32 copier_warps(const Config& c) {
  return prepares_stages(c) || c.storage == ScaleStorage::kCompact ? 2 : 0;
}
constexpr u32 preparation_warps(const Config& c) {
  return prepares_stages(c) ? roles::kPreparationWarps : 0;
}
constexpr i32 threads_per_cta(const Config& c) {
  return static_cast<i32>(32 * (roles::kFirstPreparation + preparation_warps(c)));
}
// Who reads an entry of the work queue.
constexpr i32 queue_readers(const Config& c) {
  return 2 + copier_warps(c) + static_cast<i32>(kWarpgroupWarps + preparation_warps(c));
}

// What common/ asks of a config.
constexpr i32 math_warps(const Config&) {
  return static_cast<i32>(kWarpgroupWarps);
}
constexpr i32 tiles_at_once(const Config&) {
  return 1;
}
constexpr bool multiplies_in_pairs(const Config&) {
  return false;
}
constexpr u32 stage_readers(const Config&) {
  return 1;
}
constexpr bool reaches_other_ctas(const Config&) {
  return false;
}
constexpr i32 b_box_tokens(const Config& c) {
  return c.tile_k;
}
constexpr i32 b_box_rows(const Config& c) {
  return c.tile_n;
}
constexpr i32 output_box_rows(const Config&) {
  return 32;
}
// Stages begin at the expert's first token, and the loader of 16-bit rows has no part in them.
constexpr bool aligns_first_token(const Config&) {
  return false;
}
constexpr bool moves_rows(const Config&) {
  return false;
}
constexpr bool uses_loader(const Config&) {
  return false;
}

constexpr bool is_valid(const Config& c) {
  const bool packed = c.input == CodeWidth::kNibble;
  const bool k_major = !is_mn_major(c.a) && !is_mn_major(c.b);
  const bool blocked =
      c.a == OperandLayout::kMnMajorBlocked || c.b == OperandLayout::kMnMajorBlocked;
  const bool elements = (c.element_a == ElementType::kE2m1) == packed &&
                        (c.element_b == ElementType::kE2m1) == packed;
  const bool scales = c.scale == ScaleType::kE8m0 ? c.vec_size == 32 || (packed && c.vec_size == 16)
                                                  : packed && c.vec_size == 16;
  const bool tile = c.tile_m == 128 && (c.tile_n == 128 || c.tile_n == 256) &&
                    c.tile_k == kSwizzleBytes * 8 / bits_of(c.input);
  // One stage is multiplied, one moves, one lends its first tokens (preparation.cuh).
  const i32 fewest = prepares_stages(c) ? 3 : 2;
  return elements && scales && tile && !blocked && (k_major || !packed) && c.stages >= fewest &&
         used_tensor_columns(c) <= kScaledTensorColumns && c.ring_slots >= 2 && c.ring_slots <= 4;
}

}  // namespace wgrad::shared::sm100_scaled
