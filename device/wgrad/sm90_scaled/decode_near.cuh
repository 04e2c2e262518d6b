// Raw codes to FP16, exactly, where an operand's scale factors lie near each other: decoded values
// are element * scale * 2^-r, one r for all of a tile, and the sums take both r back. Cheaper than
// BF16 (decode.cuh): FP16 has NaN and infinity of e4m3 and e5m2 by itself.
//   e4m3: the hardware's conversion.
//   e5m2: the upper half of FP16.
//   e2m1: sign and magnitude where FP16 has them, which is the element * 2^-14.
#pragma once

#include "wgrad/sm90_scaled/decode.cuh"

namespace wgrad::device {

// Of e8m0 codes, what an operand's multipliers are made from: code `least` is 2^(kFirst - 15), and
// kCount codes from there on have one that leaves every element exact.
struct ScaleWindow {
  u32 first;     // FP16's exponent field of the least code
  u32 count;     // of codes
  u32 headroom;  // codes above the largest that a tile begins with
  i32 behind;    // elements are decoded 2^-behind times themselves
};
constexpr ScaleWindow scale_window(ElementType t) {
  if (t == ElementType::kE4m3) return {1, 22, 4, 0};  // 2^-14 * 2^-9 to 2^7 * 448
  if (t == ElementType::kE5m2) return {7, 9, 2, 0};   // 2^-8 * 2^-16 to 57344
  return {6, 25, 5, 14};                              // 2^-14 * 2^-9 / 2 to 2^-14 * 2^15 * 6
}

template <ElementType kElement, ScaleType kScale>
struct NearDecoder {
  static constexpr ScaleWindow kWindow = scale_window(kElement);
  static constexpr u32 kMostLeast = 255 - kWindow.count;  // of ScaleRange
  static constexpr bool kPacked = kElement == ElementType::kE2m1;

  // The least code of a window for scales up to `largest`.
  WGRAD_DEVICE static u32 least_for(u32 largest) {
    const i32 least = i32(largest + kWindow.headroom) - i32(kWindow.count - 1);
    return u32(min_of(max_of(least, 0), i32{kMostLeast}));
  }

  // What both halves of a pair are multiplied by; some finite value for a code outside the window.
  WGRAD_DEVICE static u32 multiplier(u32 scale, u32 least) {
    if constexpr (kScale == ScaleType::kE4m3) {
      constexpr u32 kOneHundredTwentyEight = 0x58005800;
      return arch::multiply_fp16(arch::fp16_of_e4m3(scale * 0x101), kOneHundredTwentyEight);
    } else {
      const u32 above = min_of(scale - least, kWindow.count - 1);
      return (above + kWindow.first) * 0x04000400u;
    }
  }

  // FP8: of two codes, each in a half; so are the two, FP16 each.
  WGRAD_DEVICE static u32 multipliers(u32 scales, u32 least) {
    constexpr u32 kHalves = 0x00010001u;
    const u32 from = least * kHalves, to = (least + kWindow.count - 1) * kHalves;
    const u32 inside = arch::min_u16_pairs(arch::max_u16_pairs(scales, from), to);
    return (inside - from + kWindow.first * kHalves) << 10;
  }

  // 2^r.
  WGRAD_DEVICE static float taken_back(u32 least) {
    constexpr i32 kAlways = 15 + kWindow.behind - i32(kWindow.first) - kE8m0Bias;
    if constexpr (kScale == ScaleType::kE4m3) return 128.0f;
    return arch::unpack_bf16(u32(i32(least) + kAlways + 127) << 7).low;
  }

  // Step `step` (a constant) of a unit: its two pairs, in the order of decode.cuh.
  template <u32 kWords>
  WGRAD_DEVICE static void pairs(const u32 (&words)[kWords], u32 by, u32 step, u32& first,
                                 u32& second) {
    if constexpr (kPacked) {
      const u32 odd = words[step / 2], even = odd << 4;
      first = arch::multiply_fp16(
          step % 2 == 0 ? spread<kLowBytes>(even) : spread<kHighBytes>(even), by);
      second =
          arch::multiply_fp16(step % 2 == 0 ? spread<kLowBytes>(odd) : spread<kHighBytes>(odd), by);
    } else {
      first = low_pair(words[step], by);
      second = high_pair(words[step], by);
    }
  }

  // FP8: two pairs of a word, each under its own multipliers.
  WGRAD_DEVICE static u32 low_pair(u32 codes, u32 by) {
    if constexpr (kElement == ElementType::kE4m3)
      return arch::multiply_fp16(arch::fp16_of_e4m3(codes), by);
    return arch::multiply_fp16(arch::permute_bytes<0x1404>(codes, 0), by);
  }
  WGRAD_DEVICE static u32 high_pair(u32 codes, u32 by) {
    if constexpr (kElement == ElementType::kE4m3)
      return arch::multiply_fp16(arch::fp16_of_e4m3(codes >> 16), by);
    return arch::multiply_fp16(arch::permute_bytes<0x3424>(codes, 0), by);
  }

 private:
  // e2m1: the high nibbles of two bytes.
  template <u32 kBytes>
  WGRAD_DEVICE static u32 spread(u32 codes) {
    return (arch::permute_bytes<kBytes>(codes, codes) << 5) & 0x8e008e00u;
  }
};

}  // namespace wgrad::device
