// Raw codes to the 16-bit elements that wgmma multiplies, times their scale factors, exactly.
//   e8m0 scales: BF16. The bits of a code, moved to where BF16 has them, are the element times a
//   power of two that BF16 multiplication takes back together with the scale, subnormals included.
//   e4m3 scales (of e2m1 elements): FP16, which holds every product.
// A word of e2m1 codes gives its eight tokens in the order 0 2 | 1 3 | 4 6 | 5 7: the order inside
// a wgmma's 16 tokens is free, as long as both operands have the same.
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/shared/element.hpp"

namespace wgrad::device {

// Two bytes of a word, each with its sign in all bits of the byte above.
inline constexpr u32 kLowBytes = 0x9180, kHighBytes = 0xb3a2;

// The first two and the last two bytes of a word, as pairs of 16-bit floats of value * 2^-kBehind.
template <ElementType kElement>
struct Spread;

template <>
struct Spread<ElementType::kE4m3> {
  static constexpr i32 kBehind = 120;
  template <u32 kBytes>
  WGRAD_DEVICE static u32 pair(u32 codes) {
    return (arch::permute_bytes<kBytes>(codes, codes) << 4) & 0x87f087f0u;
  }
};
template <>
struct Spread<ElementType::kE5m2> {
  static constexpr i32 kBehind = 112;
  template <u32 kBytes>
  WGRAD_DEVICE static u32 pair(u32 codes) {
    return (arch::permute_bytes<kBytes>(codes, codes) << 5) & 0x8fe08fe0u;
  }
};
template <>  // of the high nibbles
struct Spread<ElementType::kE2m1> {
  static constexpr i32 kBehind = 126;
  template <u32 kBytes>
  WGRAD_DEVICE static u32 pair(u32 codes) {
    return (arch::permute_bytes<kBytes>(codes, codes) << 2) & 0x81c081c0u;
  }
};

template <ElementType kElement, ScaleType kScale>
struct Decoder {
  static constexpr bool kPacked = kElement == ElementType::kE2m1;
  static constexpr u32 kTokensOfWord = kPacked ? 8 : 4;
  static constexpr u32 kPairsOfWord = kTokensOfWord / 2;
  static constexpr u32 kNanPair = 0x7fff7fffu;

  // e8m0 codes below the first or above the last need renderings; NaN does not.
  static constexpr u32 kFirstScale = u32(exact_range(kElement).least + kE8m0Bias);
  static constexpr u32 kLastScale =
      kPacked ? u32(exact_range(kElement).most + kE8m0Bias) : 254 - u32(Spread<kElement>::kBehind);

  WGRAD_DEVICE static bool is_direct(u32 scale) {
    if constexpr (kScale == ScaleType::kE4m3) return true;
    return scale - kFirstScale <= kLastScale - kFirstScale || scale == kE8m0Nan;
  }

  // What both halves of a pair are multiplied by; of a scale that is_direct.
  WGRAD_DEVICE static u32 multiplier(u32 scale) {
    if constexpr (kScale == ScaleType::kE4m3) {
      constexpr u32 kSixtyFour = 0x54005400;  // FP16: codes() leaves 2^-6
      return arch::multiply_fp16(arch::fp16_of_e4m3(scale * 0x101), kSixtyFour);
    } else {
      if (scale == kE8m0Nan) return kNanPair;
      if constexpr (kPacked) return scale == 0 ? 0x00400040u : scale * 0x00800080u;
      return (scale + u32(Spread<kElement>::kBehind)) * 0x00800080u;
    }
  }

  // The same of any scale, where one that needs renderings belongs to zeros: 0 times infinity would
  // be NaN.
  WGRAD_DEVICE static u32 multiplier_or_zero(u32 scale) {
    return is_direct(scale) ? multiplier(scale) : 0;
  }

  // FP8: nonzero bits of 0x80808080 where a byte of the word is NaN or infinite.
  WGRAD_DEVICE static u32 specials(u32 codes) {
    constexpr u32 kToTop = kElement == ElementType::kE4m3 ? 0x01010101u : 0x04040404u;
    return (codes & 0x7f7f7f7fu) + kToTop;
  }

  // FP8: what turns a pair with specials, once multiplied, into them: infinite exponents.
  static constexpr u32 kInfinitePair = 0x7f807f80u;
  WGRAD_DEVICE static u32 special_low(u32 codes) {
    const u32 found = specials(codes);
    return arch::permute_bytes<0x9988>(found, found) & kInfinitePair;
  }
  WGRAD_DEVICE static u32 special_high(u32 codes) {
    const u32 found = specials(codes);
    return arch::permute_bytes<0xbbaa>(found, found) & kInfinitePair;
  }

  // FP8: two pairs of a word without specials, each under its own multiplier.
  WGRAD_DEVICE static u32 low_pair(u32 codes, u32 by) {
    return arch::multiply_bf16(Spread<kElement>::template pair<kLowBytes>(codes), by);
  }
  WGRAD_DEVICE static u32 high_pair(u32 codes, u32 by) {
    return arch::multiply_bf16(Spread<kElement>::template pair<kHighBytes>(codes), by);
  }

  // All pairs of a word under one multiplier.
  WGRAD_DEVICE static void pairs(u32 codes, u32 by, u32 (&out)[kPairsOfWord]) {
    if constexpr (!kPacked) {
      out[0] = low_pair(codes, by);
      out[1] = high_pair(codes, by);
    } else if constexpr (kScale == ScaleType::kE4m3) {
      // Nibbles as bytes of e4m3: the same value times 2^-6.
      const u32 even = ((codes << 4) & 0x80808080u) | ((codes << 2) & 0x1c1c1c1cu);
      const u32 odd = (codes & 0x80808080u) | ((codes >> 2) & 0x1c1c1c1cu);
      out[0] = arch::multiply_fp16(arch::fp16_of_e4m3(even), by);
      out[1] = arch::multiply_fp16(arch::fp16_of_e4m3(odd), by);
      out[2] = arch::multiply_fp16(arch::fp16_of_e4m3(even >> 16), by);
      out[3] = arch::multiply_fp16(arch::fp16_of_e4m3(odd >> 16), by);
    } else {
      constexpr u32 kToValue = u32(Spread<kElement>::kBehind + 127) * 0x00800080u;
      const u32 even = codes << 4;
      const auto times = [&](u32 pair) {
        return arch::multiply_bf16(arch::multiply_bf16(pair, kToValue), by);
      };
      out[0] = times(Spread<kElement>::template pair<kLowBytes>(even));
      out[1] = times(Spread<kElement>::template pair<kLowBytes>(codes));
      out[2] = times(Spread<kElement>::template pair<kHighBytes>(even));
      out[3] = times(Spread<kElement>::template pair<kHighBytes>(codes));
    }
  }

  // Element by element, for what the sequences above leave out.
  template <typename Element>
  WGRAD_DEVICE static void each(u32 codes, const Element& element, u32 (&out)[kPairsOfWord]) {
#pragma unroll
    for (u32 i = 0; i < kPairsOfWord; ++i) {
      const u32 low = kPacked ? i / 2 * 16 + i % 2 * 4 : i * 16;
      const u32 high = low + 8;
      constexpr u32 kMask = kPacked ? 0xf : 0xff;
      out[i] = element(codes >> low & kMask) | element(codes >> high & kMask) << 16;
    }
  }
};

}  // namespace wgrad::device
