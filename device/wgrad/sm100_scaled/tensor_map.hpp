// Tensor maps of the codes of block-scaled operands: bytes, in rows of 128 with a swizzle.
#pragma once

#include "wgrad/shared/tensor_map.hpp"
#include "wgrad/sm100_scaled/config.hpp"

namespace wgrad::shared::sm100_scaled {

// `extent` is M or N, of which a tile has `rows`; `ld` the leading dimension in elements: whole
// units of 16 bytes, below 2^34 bytes. MN-major: `rows` / 128 boxes a stage.
constexpr TensorMapRecipe code_map(const Config& c, OperandLayout layout, i32 rows, i64 extent,
                                   i64 tokens, i64 ld) {
  const i64 bits = bits_of(c.input);
  const u64 pitch = static_cast<u64>(ld * bits / 8), width = static_cast<u64>(extent);
  const u32 line = static_cast<u32>(kSwizzleBytes);
  if (layout == OperandLayout::kKMajorRagged) return {0, MapElement::kByte, {}, {}, {}};
  if (is_mn_major(layout)) {
    return {4,
            MapElement::kByte,
            {width, kRaggedTokens, kUnbounded, kUnbounded, 0},
            {pitch, (u64{1} << 34) - pitch, pitch, 0},
            {line, static_cast<u32>(c.tile_k), 1, 1, 0}};
  }
  return {2,
          MapElement::kByte,
          {static_cast<u64>(max_of((tokens * bits + 7) / 8, i64{1})), width, 0, 0, 0},
          {pitch, 0, 0, 0},
          {line, static_cast<u32>(rows), 0, 0, 0}};
}

constexpr TensorMapRecipe a_map(const Config& c, i64 m, i64 tokens, i64 ld) {
  return code_map(c, c.a, c.tile_m, m, tokens, ld);
}
constexpr TensorMapRecipe b_map(const Config& c, i64 n, i64 tokens, i64 ld) {
  return code_map(c, c.b, c.tile_n, n, tokens, ld);
}

}  // namespace wgrad::shared::sm100_scaled
