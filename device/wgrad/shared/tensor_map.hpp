// Tensor maps as plain data: what to pass to cuTensorMapEncodeTiled for each operand. All use
// interleave NONE, swizzle 128B unless stated, L2 promotion 256B, zero fill (FLOAT_OOB_FILL_NONE)
// and element strides of 1.
#pragma once

#include "wgrad/shared/kernel_config.hpp"

namespace wgrad::shared {

enum class MapElement : u8 { kBf16, kFp16, kFp32, kByte };

struct TensorMapRecipe {
  u32 rank = 0;  // 0: this operand needs no map
  MapElement element = MapElement::kBf16;
  u64 dims[5] = {};       // elements, innermost first
  u64 strides[4] = {};    // bytes, of dims 1..rank-1
  u32 box[5] = {};        // elements
  bool is_plain = false;  // no swizzle: rows of the box follow each other

  bool operator==(const TensorMapRecipe&) const = default;
};

// Ragged bound (docs/design/performance.md): the token coordinate leaves
// its dimension, kRaggedTokens, exactly at the expert's end, while two dummy dimensions bring the
// address back modulo 2^64.
inline constexpr u64 kRaggedTokens = u64{1} << 30;
inline constexpr u64 kUnbounded = (u64{1} << 31) - 1;

// Elements of one 128-byte row of a box.
constexpr u32 box_columns(i32 bits) {
  return static_cast<u32>(kSwizzleBytes * 8 / bits);
}

constexpr i32 bits_of(MapElement element) {
  return element == MapElement::kFp32 ? 32 : element == MapElement::kByte ? 8 : 16;
}
constexpr MapElement map_element(InputType t) {
  if (t == InputType::kFp8) return MapElement::kByte;
  return t == InputType::kBf16 ? MapElement::kBf16 : MapElement::kFp16;
}
constexpr MapElement map_element(OutputType t) {
  if (t == OutputType::kFp32) return MapElement::kFp32;
  return t == OutputType::kBf16 ? MapElement::kBf16 : MapElement::kFp16;
}

struct OperandBox {
  i32 rows;  // along M or N
  i32 tokens;
};
template <TileConfig C>
constexpr OperandBox a_box(const C& c) {
  return {c.tile_m, c.tile_k};
}
template <TileConfig C>
constexpr OperandBox b_box(const C& c) {
  return {b_box_rows(c), b_box_tokens(c)};
}

// `extent` is M or N; `ld` the leading dimension in elements (its bytes a multiple of 16, below
// 2^34).
constexpr TensorMapRecipe operand_map(OperandLayout layout, MapElement element, OperandBox box,
                                      i64 extent, i64 tokens, i64 ld) {
  const u64 pitch = static_cast<u64>(ld) * static_cast<u64>(bits_of(element)) / 8;
  const u32 columns = box_columns(bits_of(element));
  const u64 width = static_cast<u64>(extent);
  const u64 back = (u64{1} << 34) - pitch;  // times 2^30 is -2^30 * pitch modulo 2^64
  const u32 rows = static_cast<u32>(box.rows), depth = static_cast<u32>(box.tokens);
  switch (layout) {
    case OperandLayout::kMnMajorBlocked:
      return {5,
              element,
              {columns, kRaggedTokens, width / columns, kUnbounded, kUnbounded},
              {pitch, kSwizzleBytes, back, pitch},
              {columns, depth, rows / columns, 1, 1}};
    case OperandLayout::kMnMajor:
      return {4,
              element,
              {width, kRaggedTokens, kUnbounded, kUnbounded, 0},
              {pitch, back, pitch, 0},
              {columns, depth, 1, 1, 0}};
    case OperandLayout::kKMajor:
      return {2,
              element,
              {static_cast<u64>(max_of(tokens, i64{1})), width, 0, 0, 0},
              {pitch, 0, 0, 0},
              {depth, rows, 0, 0, 0}};
    case OperandLayout::kKMajorRagged:
      break;
  }
  return {0, element, {}, {}, {}};
}

template <TileConfig C>
constexpr TensorMapRecipe a_map(const C& c, i64 m, i64 tokens, i64 ld) {
  return operand_map(c.a, map_element(c.input), a_box(c), m, tokens, ld);
}
template <TileConfig C>
constexpr TensorMapRecipe b_map(const C& c, i64 n, i64 tokens, i64 ld) {
  return operand_map(c.b, map_element(c.input), b_box(c), n, tokens, ld);
}

// One map for every expert's output, dense or discrete: the two outer coordinates are an address
// (address_coord).
template <TileConfig C>
constexpr TensorMapRecipe output_map(const C& c, i64 m, i64 n, i64 row_pitch_bytes) {
  const u64 reach = u64{1} << 30;
  const u64 width = static_cast<u64>(max_of(boxed_columns(c, static_cast<i32>(n)), 1));
  return {4,
          map_element(c.output),
          {width, static_cast<u64>(m), reach, reach, 0},
          {static_cast<u64>(row_pitch_bytes), 16, u64{1} << 34, 0},
          {static_cast<u32>(output_box_columns(c)), static_cast<u32>(output_box_rows(c)), 1, 1, 0}};
}

// The layout of an MN-major operand of this extent.
constexpr OperandLayout mn_major_layout(i64 extent, i32 bits = 16) {
  return extent % box_columns(bits) == 0 ? OperandLayout::kMnMajorBlocked : OperandLayout::kMnMajor;
}

}  // namespace wgrad::shared
