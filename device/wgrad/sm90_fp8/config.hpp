// Fp8Config: everything that is fixed when a kernel that multiplies FP8 operands is compiled.
#pragma once

#include "wgrad/shared/element.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::shared {

// The 16-bit kernel's tile, stages and output; `tile_k` is 128 tokens, `input` kFp8. Operands are
// K-major. A sum takes the scale factors of its row and its column once it is whole.
struct Fp8Config : Config {
  ElementType element_a = ElementType::kE4m3;  // kE4m3 or kE5m2
  ElementType element_b = ElementType::kE4m3;
  // Sums go to FP32 registers every 128 tokens, which count from the expert's first; false: they
  // stay in the tensor cores' accumulators, which keep 13 binary places.
  bool promote = true;

  bool operator==(const Fp8Config&) const = default;

  // shared/fields.hpp.
  template <typename Visit>
  static constexpr void visit_fields(Visit visit) {
    Config::visit_fields(visit);
#define WGRAD_FIELD(name, origin) visit(field(#name, &Fp8Config::name, FieldOrigin::origin))
    WGRAD_FIELD(element_a, kProblem);
    WGRAD_FIELD(element_b, kProblem);
    WGRAD_FIELD(promote, kProblem);
#undef WGRAD_FIELD
  }
};

inline constexpr i32 kPromotedTokens = 128;  // of a sum in the tensor cores' accumulators
inline constexpr i32 kPartColumns = 128;     // that are promoted at a time

template <TileConfig C>
constexpr bool takes_fp8(const C&) {
  return false;
}
constexpr bool takes_fp8(const Fp8Config&) {
  return true;
}

// Columns of a multiplication whose sums are promoted, or of any.
constexpr i32 part_columns(const Fp8Config& c) {
  return c.promote ? min_of(c.tile_n, kPartColumns) : c.tile_n;
}

constexpr bool is_valid(const Fp8Config& c) {
  const auto is_fp8 = [](ElementType t) {
    return t == ElementType::kE4m3 || t == ElementType::kE5m2;
  };
  const bool elements = c.input == InputType::kFp8 && is_fp8(c.element_a) && is_fp8(c.element_b);
  const bool k_major = !is_mn_major(c.a) && !is_mn_major(c.b);
  const bool tile = c.tile_m == 128 && c.tile_k == kSwizzleBytes &&
                    (c.tile_n == 64 || c.tile_n == 128 || c.tile_n == 256);
  const bool plain = c.tail_n == 0 && c.split_k == 1 && !c.workspace_split && !c.trace &&
                     c.split == WarpgroupSplit::kRows;
  // align.cuh: one stage is multiplied, one moves, one lends its first tokens.
  const bool depth = c.stages >= 3 && c.stages <= 12 && c.ring_slots >= 2 && c.ring_slots <= 4;
  return elements && k_major && tile && plain && depth && (c.cluster_m == 1 || c.cluster_m == 2);
}

}  // namespace wgrad::shared
