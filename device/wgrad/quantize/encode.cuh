// A lane's two rows of a unit as scale factors and codes.
#pragma once

#include "wgrad/quantize/source.cuh"

namespace wgrad::device {

// Of both rows: eight codes of four bits a word, or four of eight.
template <QuantizeConfig kConfig>
struct LaneCodes {
  static constexpr i32 kWords = element_bits(kConfig.element);  // of a row
  static constexpr i32 kPerWord = 32 / element_bits(kConfig.element);
  static constexpr i32 kScales = kUnitTokens / vec_size(kConfig);

  u32 word[2][kWords];
  u32 scale[2][kScales];
};

// Two floats as BF16, toward zero, but that the last bit also says whether anything was dropped:
// what is rounded to fewer bits later is rounded as the float would be.
WGRAD_DEVICE u32 odd_bf16_pair(float x, float y) {
  const u32 high = arch::permute_bytes<0x7632>(bits_as<u32>(x), bits_as<u32>(y));
  const u32 low = arch::permute_bytes<0x5410>(bits_as<u32>(x), bits_as<u32>(y));
  return high | arch::min_u16_pairs(low, 0x00010001u);
}

// e2m1_nearest of two BF16 numbers, a code in each half. 64 counts halves in its last bit of BF16;
// from 2 on the steps are as large as the exponent is, and so is what is added.
WGRAD_DEVICE u32 e2m1_pair(u32 pair) {
  const u32 size = arch::min_u16_pairs(pair & 0x7fff7fffu, 0x40c040c0u);  // 6
  const u32 unit = arch::max_u16_pairs(size & 0x7f807f80u, 0x3f803f80u) + 0x03000300u;
  const u32 steps = arch::add_bf16(size, unit) - unit;
  return (steps + (unit >> 6) - 0x010a010au) | (pair >> 12 & 0x00080008u);
}

template <QuantizeConfig kConfig>
struct Encoder {
  using Values = BlockValues<kConfig>;
  using Codes = LaneCodes<kConfig>;
  static constexpr bool kPower = kConfig.scale == ScaleType::kE8m0;
  static constexpr i32 kVec = vec_size(kConfig);
  // The source's own words, times a power of two, are what is rounded.
  static constexpr bool kInPairs =
      kPower && kConfig.source == SourceType::kBf16 && kConfig.order != SourceOrder::kTokens;

  Values& values;
  const Unit& unit;
  i64 row;  // which of the operand's the first one is
  GlobalScale global;
  bool rounds_up;

  // The code that 1/6 of a magnitude over the global scale rounds to. Where what a float is off by
  // could matter, in double.
  WGRAD_DEVICE u32 global_code(u32 amax) const {
    constexpr float kOff = 0x1p-20f;
    const float ratio = bits_as<float>(amax) * global.reciprocal;
    const u32 both = arch::e4m3_pair(ratio * (1.0f - kOff), ratio * (1.0f + kOff));
    if (global.is_ordinary && (both & 0xffu) == both >> 8) return both >> 8;
    return scale_code(amax, global);
  }
  WGRAD_DEVICE BlockFactor global_factor(u32 amax) const {
    if (amax >= kFloatInfinity) return {kE4m3Nan, 0.0f};
    if (amax == 0) return {0, 0.0f};
    const u32 code = global_code(amax);
    const float scale = arch::unpack_fp16(arch::fp16_of_e4m3(code)).low * global.lifted;
    float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
    if constexpr (!Values::kCanLift) {  // what is not zero saturates
      constexpr float kMost = 0x1.fffffep127f;
      inverse = min_of(inverse * global.lift, kMost);
    }
    return {code, inverse};
  }
  WGRAD_DEVICE BlockFactor factor(u32 amax) const {
    if constexpr (kPower) return power_factor(kConfig.element, amax, rounds_up);
    return global_factor(amax);
  }
  WGRAD_DEVICE float scaled(i32 r, i32 token, const BlockFactor& f) const {
    return values.value(r, token) * f.inverse;
  }

  // Four FP8 codes. The values of a block without an inverse may be NaN; its codes are not used.
  WGRAD_DEVICE static u32 pair(float x, float y) {
    if constexpr (kConfig.element == ElementType::kE5m2) return arch::e5m2_pair(x, y);
    return arch::e4m3_pair(x, y);
  }
  WGRAD_DEVICE u32 bytes(i32 r, i32 token, const BlockFactor& f) const {
    return pair(scaled(r, token, f), scaled(r, token + 1, f)) |
           pair(scaled(r, token + 2, f), scaled(r, token + 3, f)) << 16;
  }

  // FP4 codes of both rows at a token, one in each half.
  WGRAD_DEVICE u32 codes_at(i32 token, const BlockFactor (&f)[2]) const {
    if constexpr (kInPairs) {
      const u32 inverses = bits_as<u32>(f[0].inverse) >> 16 | bits_as<u32>(f[1].inverse);
      return e2m1_pair(arch::multiply_bf16(values.source.word[token], inverses));
    }
    return e2m1_pair(odd_bf16_pair(scaled(0, token, f[0]), scaled(1, token, f[1])));
  }
  WGRAD_DEVICE u32 random_codes_at(i32 token, const BlockFactor (&f)[2],
                                   const RandomWords (&random)[2]) const {
    u32 codes = 0;
#pragma unroll
    for (i32 r = 0; r < 2; ++r) {
      const u32 bits = rounding_bits_of(random[r], u32(token % 8));
      codes |= e2m1_random(scaled(r, token, f[r]), bits) << (16 * r);
    }
    return codes;
  }
  // Eight tokens of both rows.
  WGRAD_DEVICE void add_nibbles(Codes& out, i32 token, const BlockFactor (&f)[2],
                                const u32 (&kept)[2]) const {
    RandomWords random[2] = {};
    if constexpr (kConfig.stochastic) {
#pragma unroll
      for (i32 r = 0; r < 2; ++r)
        random[r] = rounding_bits(unit.operand.seed, row + r, unit.token + token);
    }
    u32 four[2] = {0, 0};  // tokens 0 to 3, 4 to 7: of row 0 in the low half
#pragma unroll
    for (i32 i = 0; i < 8; ++i) {
      const u32 codes =
          kConfig.stochastic ? random_codes_at(token + i, f, random) : codes_at(token + i, f);
      four[i / 4] |= codes << (i % 4 * 4);
    }
    out.word[0][token / 8] = arch::permute_bytes<0x5410>(four[0], four[1]) & kept[0];
    out.word[1][token / 8] = arch::permute_bytes<0x7632>(four[0], four[1]) & kept[1];
  }

  WGRAD_DEVICE void add_block(Codes& out, i32 block, const BlockFactor (&f)[2]) const {
    const u32 kept[2] = {f[0].inverse != 0 ? ~0u : 0u, f[1].inverse != 0 ? ~0u : 0u};
    out.scale[0][block] = f[0].code;
    out.scale[1][block] = f[1].code;
#pragma unroll
    for (i32 i = 0; i < kVec; i += Codes::kPerWord) {
      const i32 token = block * kVec + i;
      if constexpr (kConfig.element == ElementType::kE2m1) {
        add_nibbles(out, token, f, kept);
      } else {
        out.word[0][token / 4] = bytes(0, token, f[0]) & kept[0];
        out.word[1][token / 4] = bytes(1, token, f[1]) & kept[1];
      }
    }
  }
  WGRAD_DEVICE Codes encoded() {
    BlockFactor f[Codes::kScales][2] = {};
#pragma unroll
    for (i32 block = 0; block < Codes::kScales; ++block) {
      u32 amax[2] = {};
      values.template find_amax<kVec>(block * kVec, amax);
      f[block][0] = factor(amax[0]);
      f[block][1] = factor(amax[1]);
    }
    if constexpr (!kPower && Values::kCanLift) {
      if (global.lift != 1.0f) values.lift(global.lift);
    }
    Codes out{};
#pragma unroll
    for (i32 block = 0; block < Codes::kScales; ++block) add_block(out, block, f[block]);
    return out;
  }
};

}  // namespace wgrad::device
