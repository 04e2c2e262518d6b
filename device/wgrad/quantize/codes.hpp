// Scale factors and codes of one block, bit for bit as src/scales/ computes them. Pure arithmetic,
// for the device; random bits and transforms for the host too. Sources: OCP MX 1.0, section 6.3;
// Philox4x32-10: Salmon et al., SC 2011.
#pragma once

#include "wgrad/quantize/config.hpp"

namespace wgrad::shared {

template <typename To, typename From>
constexpr To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, value);
}

inline constexpr u32 kFloatInfinity = 0x7f800000u;
inline constexpr u32 kE4m3Nan = 0x7f;

constexpr u32 magnitude_bits(float x) {
  return bits_as<u32>(x) & 0x7fffffffu;
}

// Code of a block's scale factor, and what its values, lifted, are multiplied by in float; 0: its
// codes are zero.
struct BlockFactor {
  u32 code;
  float inverse;
};

// Exponent of the largest power of two that an element holds; the largest element over it.
constexpr i32 max_exponent(ElementType t) {
  return t == ElementType::kE4m3 ? 8 : t == ElementType::kE5m2 ? 15 : 2;
}
constexpr u32 max_fraction(ElementType t) {  // as the fraction of a float
  return t == ElementType::kE2m1 ? 0x400000u : 0x600000u;
}

// `amax`: bits of the largest magnitude of the block, infinities and NaN included. An e8m0 scale is
// a power of two between 2^-127 and 2^126.
constexpr BlockFactor power_factor(ElementType t, u32 amax, bool rounds_up) {
  if (amax >= kFloatInfinity) return {kE8m0Nan, 0.0f};
  if (amax == 0) return {0, 0.0f};
  i32 exponent = static_cast<i32>(amax >> 23) - 127;
  u32 fraction = amax & 0x7fffffu;
  if (exponent == -127) {  // subnormal: far below what any element type's scale reaches
    exponent = -128;
    fraction = 0;
  }
  exponent -= max_exponent(t) - (rounds_up && fraction > max_fraction(t) ? 1 : 0);
  exponent = max_of(exponent, -127);
  return {static_cast<u32>(exponent + 127), bits_as<float>(static_cast<u32>(127 - exponent) << 23)};
}

// The e4m3 code nearest to `value`, saturating.
constexpr u32 e4m3_of(double value) {
  if (value != value) return kE4m3Nan;
  const u64 bits = bits_as<u64>(value);
  const u32 sign = static_cast<u32>(bits >> 63) << 7;
  const i32 field = static_cast<i32>(bits >> 52 & 0x7ff) - 1023;
  if (field > 8) return sign | 0x7e;
  const i32 exponent = max_of(field, -6);
  const double size = sign != 0 ? -value : value;
  const double steps = size * bits_as<double>(static_cast<u64>(1023 + 3 - exponent) << 52);
  const double rounded = steps + 0x1p52 - 0x1p52;
  const u32 code = (static_cast<u32>(exponent + 6) << 3) + static_cast<u32>(rounded);
  return sign | min_of(code, 0x7eu);
}
// What an expert's global scale makes of its blocks.
struct GlobalScale {
  float scale;
  float lift;        // 1, or 2^64 where floats would underflow
  float lifted;      // scale * lift
  float reciprocal;  // 1 / (6 * scale), nearly
  bool is_ordinary;  // far from where that is none
};
constexpr GlobalScale global_of(float scale) {
  const float lift = scale < 0x1p-60f ? 0x1p64f : 1.0f;
  const bool is_ordinary = scale >= 0x1p-60f && scale <= 0x1p60f;
  return {scale, lift, scale * lift, is_ordinary ? 1.0f / (6.0f * scale) : 0.0f, is_ordinary};
}

// An e4m3 scale under a global one; `amax`: bits of a finite magnitude.
constexpr u32 scale_code(u32 amax, const GlobalScale& g) {
  return e4m3_of(double{bits_as<float>(amax)} / 6.0 / double{g.scale});
}

// `amax`: bits of the expert's largest finite magnitude.
constexpr float nvfp4_global(u32 amax) {
  if (amax == 0) return 1.0f;
  const float scale = bits_as<float>(amax) / (448.0f * 6.0f);
  return scale > 0.0f ? scale : bits_as<float>(1u);
}

// The e2m1 code nearest to a finite `value`, ties to even, saturating.
constexpr u32 e2m1_nearest(float value) {
  const u32 bits = bits_as<u32>(value);
  const u32 size = bits & 0x7fffffffu;
  // 2^22 counts halves in its last bit.
  const u32 halves = bits_as<u32>(bits_as<float>(size) + 4194304.0f) - 0x4a800000u;
  const u32 above = ((size + 0x1fffffu + (size >> 22 & 1u)) >> 22) - 0xfcu;
  const u32 code = size < 0x3f800000u ? halves : min_of(above, 7u);
  return code | (bits >> 28 & 8u);
}

// Down or up to one of the two e2m1 codes beside a finite `value`, up with the probability of its
// place between them, in steps of 2^-16: where place + random reaches 2^16. Saturating.
constexpr u32 e2m1_random(float value, u32 random) {
  const u32 bits = bits_as<u32>(value);
  const u32 size = bits & 0x7fffffffu;
  u32 place = 7u << 16;  // code << 16 | place between it and the next
  if (size < 0x40000000u) {
    place = static_cast<u32>(bits_as<float>(size) * 131072.0f);
  } else if (size < 0x41000000u) {
    place = (size >> 6) - (0xfcu << 16);
  }
  return min_of((place + random) >> 16, 7u) | (bits >> 28 & 8u);
}

struct RandomWords {
  u32 word[4];
};

// Philox4x32-10.
constexpr RandomWords philox(u64 key, u32 c0, u32 c1, u32 c2, u32 c3) {
  u32 k0 = static_cast<u32>(key), k1 = static_cast<u32>(key >> 32);
  for (i32 round = 0; round < 10; ++round) {
    const u64 x = u64{0xD2511F53u} * c0;
    const u64 y = u64{0xCD9E8D57u} * c2;
    c0 = static_cast<u32>(y >> 32) ^ c1 ^ k0;
    c2 = static_cast<u32>(x >> 32) ^ c3 ^ k1;
    c1 = static_cast<u32>(y);
    c3 = static_cast<u32>(x);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

inline constexpr u32 kRandomRounding = 0, kRandomSigns = 1;  // the counter's last word

// 16 random bits for each of eight tokens of a row, the first of which is `token`, counted from the
// first of all experts. Eights restart at each expert's begin.
constexpr RandomWords rounding_bits(u64 seed, i64 row, i64 token) {
  return philox(seed, static_cast<u32>(token), static_cast<u32>(row),
                static_cast<u32>(static_cast<u64>(row) >> 32), kRandomRounding);
}
constexpr u32 rounding_bits_of(const RandomWords& words, u32 token) {  // token in [0, 8)
  return words.word[token / 2] >> (16 * (token % 2)) & 0xffffu;
}

// Bit j: the sign of token j of every block of 16.
constexpr u32 hadamard_signs(u64 seed) {
  return philox(seed, 0, 0, 0, kRandomSigns).word[0] & 0xffffu;
}

// A quarter of the 16x16 Hadamard matrix (Sylvester's) times the signed values, in float: four
// stages of sums and differences of values 1, 2, 4, 8 apart.
constexpr void hadamard_block(float* x, u32 signs) {
  for (u32 j = 0; j < 16; ++j) {
    if ((signs >> j & 1u) != 0) x[j] = -x[j];
  }
  for (u32 apart = 1; apart < 16; apart *= 2) {
    for (u32 j = 0; j < 16; ++j) {
      if ((j & apart) != 0) continue;
      const float low = x[j], high = x[j + apart];
      x[j] = low + high;
      x[j + apart] = low - high;
    }
  }
  for (u32 j = 0; j < 16; ++j) x[j] *= 0.25f;
}

}  // namespace wgrad::shared
