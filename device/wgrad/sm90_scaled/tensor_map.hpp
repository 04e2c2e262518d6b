// Tensor maps of the codes of block-scaled operands.
#pragma once

#include "wgrad/shared/tensor_map.hpp"
#include "wgrad/sm90_scaled/config.hpp"

namespace wgrad::shared {

// `extent` is M or N, of which a tile has `rows`; `ld` the leading dimension in elements: whole
// units of 16 bytes, below 2^34 bytes.
constexpr TensorMapRecipe raw_map(const ScaledConfig& c, OperandLayout raw, ElementType t, i32 rows,
                                  i64 extent, i64 tokens, i64 ld) {
  const i64 bits = element_bits(t);
  const u64 pitch = static_cast<u64>(ld * bits / 8), width = static_cast<u64>(extent);
  if (raw == OperandLayout::kKMajorRagged) return {0, MapElement::kByte, {}, {}, {}};
  if (is_mn_major(raw)) {
    return {4,
            MapElement::kByte,
            {width, kRaggedTokens, kUnbounded, kUnbounded, 0},
            {pitch, (u64{1} << 34) - pitch, pitch, 0},
            {static_cast<u32>(kSwizzleBytes), static_cast<u32>(raw_tokens(c)), 1, 1, 0}};
  }
  return {2,
          MapElement::kByte,
          {static_cast<u64>(max_of((tokens * bits + 7) / 8, i64{1})), width, 0, 0, 0},
          {pitch, 0, 0, 0},
          {static_cast<u32>(raw_pitch(c, t)), static_cast<u32>(rows), 0, 0, 0},
          !c.registers_a};
}

constexpr TensorMapRecipe a_map(const ScaledConfig& c, i64 m, i64 tokens, i64 ld) {
  return raw_map(c, c.raw_a, c.element_a, c.tile_m, m, tokens, ld);
}
constexpr TensorMapRecipe b_map(const ScaledConfig& c, i64 n, i64 tokens, i64 ld) {
  return raw_map(c, c.raw_b, c.element_b, c.tile_n, n, tokens, ld);
}

}  // namespace wgrad::shared
