// Tensor maps as plain data: what to pass to cuTensorMapEncodeTiled for each operand. All use
// interleave NONE, swizzle 128B, L2 promotion 256B, zero fill (FLOAT_OOB_FILL_NONE) and element
// strides of 1.
#pragma once

#include "wgrad/sm90/config.hpp"

namespace wgrad::shared {

enum class MapElement : u8 { kBf16, kFp16, kFp32 };

struct TensorMapRecipe {
  u32 rank;  // 0: this operand needs no map
  MapElement element;
  u64 dims[5];     // elements, innermost first
  u64 strides[4];  // bytes, of dims 1..rank-1
  u32 box[5];      // elements
};

// Ragged bound (docs/notes): the token coordinate leaves its dimension, kRaggedTokens, exactly at
// the expert's end, while two dummy dimensions bring the address back modulo 2^64.
inline constexpr u64 kRaggedTokens = u64{1} << 30;
inline constexpr u64 kUnbounded = (u64{1} << 31) - 1;
inline constexpr u32 kBoxColumns = kSwizzleBytes / kInputBytes;

constexpr MapElement map_element(InputType t) {
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
constexpr OperandBox a_box(const Config& c) {
  return {c.tile_m, c.tile_k};
}
constexpr OperandBox b_box(const Config& c) {
  return {b_box_rows(c), b_box_tokens(c)};
}

// `extent` is M or N; `ld` the leading dimension in elements (ld * 2 a multiple of 16, below 2^34).
constexpr TensorMapRecipe operand_map(OperandLayout layout, InputType input, OperandBox box,
                                      i64 extent, i64 tokens, i64 ld) {
  const u64 pitch = static_cast<u64>(ld) * kInputBytes;
  const u64 width = static_cast<u64>(extent);
  const u64 back = (u64{1} << 34) - pitch;  // times 2^30 is -2^30 * pitch modulo 2^64
  const u32 rows = static_cast<u32>(box.rows), depth = static_cast<u32>(box.tokens);
  const MapElement element = map_element(input);
  switch (layout) {
    case OperandLayout::kMnMajorBlocked:
      return {5,
              element,
              {kBoxColumns, kRaggedTokens, width / kBoxColumns, kUnbounded, kUnbounded},
              {pitch, kSwizzleBytes, back, pitch},
              {kBoxColumns, depth, rows / kBoxColumns, 1, 1}};
    case OperandLayout::kMnMajor:
      return {4,
              element,
              {width, kRaggedTokens, kUnbounded, kUnbounded, 0},
              {pitch, back, pitch, 0},
              {kBoxColumns, depth, 1, 1, 0}};
    case OperandLayout::kKMajor:
      return {2,
              element,
              {static_cast<u64>(max_of(tokens, i64{1})), width, 0, 0, 0},
              {pitch, 0, 0, 0},
              {kTileK, rows, 0, 0, 0}};
    case OperandLayout::kKMajorRagged:
      break;
  }
  return {0, element, {}, {}, {}};
}

constexpr TensorMapRecipe a_map(const Config& c, i64 m, i64 tokens, i64 ld) {
  return operand_map(c.a, c.input, a_box(c), m, tokens, ld);
}
constexpr TensorMapRecipe b_map(const Config& c, i64 n, i64 tokens, i64 ld) {
  return operand_map(c.b, c.input, b_box(c), n, tokens, ld);
}

// One map for every expert's output, dense or discrete: the two outer coordinates are an address
// (address_coord).
constexpr TensorMapRecipe output_map(const Config& c, i64 m, i64 n, i64 row_pitch_bytes) {
  const u64 reach = u64{1} << 30;
  const u64 width = static_cast<u64>(max_of(boxed_columns(c, static_cast<i32>(n)), 1));
  return {4,
          map_element(c.output),
          {width, static_cast<u64>(m), reach, reach, 0},
          {static_cast<u64>(row_pitch_bytes), 16, u64{1} << 34, 0},
          {static_cast<u32>(output_box_columns(c)), static_cast<u32>(kWarpRows), 1, 1, 0}};
}

// The layout of an MN-major operand of this extent.
constexpr OperandLayout mn_major_layout(i64 extent) {
  return extent % kBoxColumns == 0 ? OperandLayout::kMnMajorBlocked : OperandLayout::kMnMajor;
}

}  // namespace wgrad::shared
