// Elements and scale factors of block-scaled operands, exactly, as BF16 that tensor cores multiply.
// Sources: OCP 8-bit FP (OFP8) 1.0, OCP MX 1.0. Pure arithmetic.
#pragma once

#include "wgrad/shared/types.hpp"

namespace wgrad::shared {

enum class ElementType : u8 { kE4m3, kE5m2, kE2m1 };
enum class ScaleType : u8 { kE8m0, kE4m3 };

// As C++ spells a value; null: there is no such value.
constexpr const char* name_of(ElementType type) {
  switch (type) {
    case ElementType::kE4m3:
      return "ElementType::kE4m3";
    case ElementType::kE5m2:
      return "ElementType::kE5m2";
    case ElementType::kE2m1:
      return "ElementType::kE2m1";
  }
  return nullptr;
}
constexpr const char* name_of(ScaleType type) {
  switch (type) {
    case ScaleType::kE8m0:
      return "ScaleType::kE8m0";
    case ScaleType::kE4m3:
      return "ScaleType::kE4m3";
  }
  return nullptr;
}

constexpr i32 element_bits(ElementType t) {
  return t == ElementType::kE2m1 ? 4 : 8;
}

// A code is sign * significand * 2^exponent, or one of the special values.
struct ElementParts {
  u32 sign;         // 0 or 1
  u32 significand;  // up to 15
  i32 exponent;
  bool is_infinite;
  bool is_nan;
};

constexpr i32 mantissa_bits(ElementType t) {
  return t == ElementType::kE4m3 ? 3 : t == ElementType::kE5m2 ? 2 : 1;
}
constexpr i32 exponent_bias(ElementType t) {
  return t == ElementType::kE4m3 ? 7 : t == ElementType::kE5m2 ? 15 : 1;
}

constexpr ElementParts parts_of(ElementType t, u32 code) {
  const i32 width = mantissa_bits(t);
  const u32 sign_bit = t == ElementType::kE2m1 ? 8u : 128u;
  const u32 magnitude = code & (sign_bit - 1);
  const u32 fraction = magnitude & ((1u << width) - 1);
  const i32 field = static_cast<i32>(magnitude >> width);
  ElementParts p{};
  p.sign = (code & sign_bit) != 0 ? 1 : 0;
  p.is_nan =
      t == ElementType::kE4m3 ? magnitude == 0x7f : t == ElementType::kE5m2 && magnitude > 0x7c;
  p.is_infinite = t == ElementType::kE5m2 && magnitude == 0x7c;
  p.significand = field == 0 ? fraction : fraction + (1u << width);
  p.exponent = (field == 0 ? 1 : field) - exponent_bias(t) - width;
  return p;
}

inline constexpr u32 kBf16One = 0x3f80, kBf16Infinity = 0x7f80, kBf16Nan = 0x7fff;
inline constexpr u32 kE8m0Nan = 255;
inline constexpr i32 kE8m0Bias = 127;

// significand * 2^exponent as BF16 bits, for values that BF16 holds: up to 8 significant bits,
// subnormals down to 2^-133.
constexpr u32 bf16_magnitude(u32 significand, i32 exponent) {
  if (significand == 0) return 0;
  i32 top = 0;  // position of the leading bit
  while (significand >> (top + 1) != 0) ++top;
  const i32 field = exponent + top + 127;
  if (field <= 0) return significand << (exponent + 133);
  return static_cast<u32>(field) << 7 | ((significand << (7 - top)) & 0x7f);
}

// Powers of two by which every element of the type can be multiplied inside BF16, exactly.
struct ExponentRange {
  i32 least;
  i32 most;
};
constexpr ExponentRange exact_range(ElementType t) {
  if (t == ElementType::kE4m3) return {-124, 119};
  if (t == ElementType::kE5m2) return {-117, 112};
  return {-127, 125};  // e8m0 has nothing below
}

// Scale factors outside exact_range, and infinities beside them, are multiplied in several
// renderings of the same stage. Each pair of a row of A and a column of B has its product in one of
// them, and zero in the others (device/README.md).
enum class Kept : u8 {
  kScaled,      // the rows of `low`, `middle`, `high`, times 2^shift; infinities are zero
  kUnits,       // all elements without scale factors; infinities are +-1
  kInfinities,  // infinities alone
};
struct Rendering {
  Kept kept;
  i32 shift;
  bool low;     // rows whose scale lies below exact_range
  bool middle;  // inside
  bool high;    // above
};
inline constexpr i32 kRenderingShift = 16;  // brings any e8m0 into any exact_range
inline constexpr u32 kRenderings = 7;

// Rows of A and columns of B whose scales lie (low, middle, high) meet once: middle with middle in
// 0, high with all in 1, middle with low in 2, low with all in 3, middle with high in 4.
constexpr Rendering rendering_of_a(u32 index) {
  constexpr i32 kShift = kRenderingShift;
  switch (index) {
    case 0:
      return {Kept::kScaled, 0, false, true, false};
    case 1:
      return {Kept::kScaled, -kShift, false, false, true};
    case 2:
      return {Kept::kScaled, -kShift, false, true, false};
    case 3:
      return {Kept::kScaled, kShift, true, false, false};
    case 4:
      return {Kept::kScaled, kShift, false, true, false};
    case 5:
      return {Kept::kUnits, 0, true, true, true};
    default:
      return {Kept::kInfinities, 0, true, true, true};
  }
}
constexpr Rendering rendering_of_b(u32 index) {
  constexpr i32 kShift = kRenderingShift;
  switch (index) {
    case 0:
      return {Kept::kScaled, 0, false, true, false};
    case 1:
      return {Kept::kScaled, kShift, true, true, true};
    case 2:
      return {Kept::kScaled, kShift, true, false, false};
    case 3:
      return {Kept::kScaled, -kShift, true, true, true};
    case 4:
      return {Kept::kScaled, -kShift, false, false, true};
    case 5:
      return {Kept::kInfinities, 0, true, true, true};
    default:
      return {Kept::kUnits, 0, true, true, true};
  }
}

// element * 2^exponent in a rendering. Beyond exact_range after the shift, the products are beyond
// FP32 whatever the factor (or below it, and zero).
constexpr u32 scaled_bits(ElementType t, const ElementParts& p, i32 exponent, const Rendering& r) {
  const ExponentRange range = exact_range(t);
  const bool kept = exponent < range.least ? r.low : exponent > range.most ? r.high : r.middle;
  const i32 shifted = min_of(exponent + r.shift, range.most);
  if (!kept || p.is_infinite || shifted < range.least) return 0;
  return bf16_magnitude(p.significand, p.exponent + shifted);
}

// One element under an e8m0 scale, as BF16 bits.
constexpr u32 rendered(ElementType t, u32 code, u32 scale, const Rendering& r) {
  const ElementParts p = parts_of(t, code);
  if (p.is_nan || scale == kE8m0Nan) return kBf16Nan;
  const u32 sign = p.sign << 15;
  if (r.kept == Kept::kInfinities) return p.is_infinite ? sign | kBf16Infinity : sign;
  if (r.kept == Kept::kUnits)
    return sign | (p.is_infinite ? kBf16One : bf16_magnitude(p.significand, p.exponent));
  return sign | scaled_bits(t, p, static_cast<i32>(scale) - kE8m0Bias, r);
}

// The same where one rendering does: the scale is in exact_range, or the element has no need of it.
constexpr u32 exact_bits(ElementType t, u32 code, u32 scale) {
  const ElementParts p = parts_of(t, code);
  if (p.is_infinite && scale != kE8m0Nan) return p.sign << 15 | kBf16Infinity;
  return rendered(t, code, scale, rendering_of_a(0));
}

}  // namespace wgrad::shared
