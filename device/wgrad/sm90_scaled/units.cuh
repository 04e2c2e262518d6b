// Units of 16 tokens of K-major rows, as fragments of wgmma: a thread of a quad has one unit of a
// row, which gives it the pairs of four steps of 16 tokens. Of a raw stage that becomes s decoded
// ones, thread q has units q * s to q * s + s - 1, one for each: the order of tokens inside a stage
// is free, as long as both operands have the same.
#pragma once

#include "wgrad/sm90_scaled/raw_stage.cuh"

namespace wgrad::device {

inline constexpr i32 kUnitTokens = 16;
inline constexpr u32 kUnitsOfStage = 4;

// Decoded stages of a raw one, of whose tokens `left` are the expert's.
template <KernelConfig auto kConfig>
WGRAD_DEVICE u32 stages_of(i32 left, bool is_shifted) {
  const u32 most = u32(used_raw_tokens(kConfig, is_shifted) / kConfig.tile_k);
  return min_of(ceil_div(u32(left), u32(kConfig.tile_k)), most);
}

// A raw stage all of whose codes are the expert's, in rows that start on copy units.
template <KernelConfig auto kConfig>
WGRAD_DEVICE bool is_whole(i32 left, bool is_shifted) {
  return !is_shifted && left >= raw_tokens(kConfig);
}
// MN-major: what becomes decoded stage `stage` of a raw one.
template <KernelConfig auto kConfig>
WGRAD_DEVICE StageOperand decoded_stage(StageOperand s, u32 stage) {
  s.codes += stage * u32(kConfig.tile_k * kSwizzleBytes);
  s.column += stage * u32(kConfig.tile_k / kConfig.vec_size);
  s.tokens -= i32(stage) * kConfig.tile_k;
  return s;
}
template <KernelConfig auto kConfig>
inline constexpr u32 kStagesOfRaw = u32(raw_tokens(kConfig) / kConfig.tile_k);

template <KernelConfig auto kConfig, bool kOfA>
struct UnitReader {
  using S = Side<kConfig, kOfA>;
  using Codes = typename S::Codes;
  static constexpr u32 kWords = kUnitTokens / Codes::kTokensOfWord;
  static constexpr u32 kUnitBytes = 4 * kWords;

  // Where a unit of a row that starts on a copy unit lies; rows 8 apart follow 1024 bytes apart.
  WGRAD_DEVICE static u32 at(const StageOperand& s, u32 row, u32 unit) {
    const u32 byte = unit * kUnitBytes;
    return swizzled(s.codes, row, byte / u32{kCopyUnit}) + byte % u32{kCopyUnit};
  }
  WGRAD_DEVICE static void load(u32 at, u32 (&words)[kWords]) {
    if constexpr (Codes::kPacked) {
      const arch::HalfChunk c = arch::load_shared_half(at);
      words[0] = c.word[0];
      words[1] = c.word[1];
    } else {
      const arch::Chunk c = arch::load_shared(at);
#pragma unroll
      for (u32 i = 0; i < 4; ++i) words[i] = c.word[i];
    }
  }
  // Word by word: few registers, as this stands beside code that needs them.
  WGRAD_DEVICE static void load_shifted(const StageOperand& s, u32 row, u32 unit,
                                        u32 (&words)[kWords]) {
    const u32 byte = unit * kUnitBytes + row_shift(s, row);
    const auto word = [&](u32 i) {
      const u32 first = byte / 4 * 4 + 4 * i;
      return arch::load_shared_u32(swizzled(s.codes, row, first / u32{kCopyUnit}) +
                                   first % u32{kCopyUnit});
    };
    u32 low = word(0);
#pragma unroll
    for (u32 i = 0; i < kWords; ++i) {
      const u32 high = word(i + 1);
      words[i] = u32((u64{high} << 32 | low) >> (byte % 4 * 8));
      low = high;
    }
  }

  // Tokens from `left` of the unit on are foreign.
  WGRAD_DEVICE static void mask(u32 (&words)[kWords], i32 left) {
    constexpr i32 kOfWord = i32{Codes::kTokensOfWord};
#pragma unroll
    for (i32 i = 0; i < i32{kWords}; ++i) {
      const i32 kept = max_of(left - i * kOfWord, 0);
      if (kept < kOfWord) words[i] &= (1u << (kept * (32 / kOfWord))) - 1;
    }
  }

  // A unit's codes, wherever it lies, without foreign tokens.
  WGRAD_DEVICE static void read(const StageOperand& s, u32 row, u32 unit, u32 (&words)[kWords]) {
    if (s.is_shifted) {
      load_shifted(s, row, unit, words);
    } else {
      load(at(s, row, unit), words);
    }
    const i32 left = s.tokens - i32(unit) * kUnitTokens;
    if (left < kUnitTokens) mask(words, left);
  }

  // Where the scale factor of a unit lies; of a unit without tokens, that of the last with some.
  // kWhole: as is_whole().
  template <bool kWhole = false>
  WGRAD_DEVICE static u32 scale_at(const StageOperand& s, u32 row, u32 unit) {
    if (!kWhole) unit = min_of(unit, u32(s.tokens - 1) / u32{kUnitTokens});
    const u32 column = (kWhole ? 0 : s.column) + unit * u32{kUnitTokens} / S::kVec;
    return s.scales + scale_offset<S::kAtoms>(row) + column / kScaleAtomColumns * kScaleAtomBytes +
           column % kScaleAtomColumns;
  }

  WGRAD_DEVICE static u32 specials(const u32 (&words)[kWords]) {
    u32 any = 0;
    if constexpr (!Codes::kPacked) {
#pragma unroll
      for (u32 i = 0; i < kWords; ++i) any |= Codes::specials(words[i]);
    }
    return any & 0x80808080u;
  }

  // What a unit is multiplied by, in BF16.
  WGRAD_DEVICE static u32 multiplier(const StageOperand& s, u32 row, u32 unit) {
    if (i32(row) >= s.rows || s.tokens <= i32(unit) * kUnitTokens) return 0;
    return Codes::multiplier_or_zero(arch::load_shared_u8(scale_at(s, row, unit)));
  }

  // Both pairs of step `step` (a constant) of a unit, in BF16.
  WGRAD_DEVICE static void pairs(const u32 (&words)[kWords], u32 by, bool special, u32 step,
                                 u32& first, u32& second) {
    if constexpr (Codes::kPacked) {
      u32 all[4];
      Codes::pairs(words[step / 2], by, all);
      const u32 place = step % 2 * 2;
      first = all[place];
      second = all[place + 1];
    } else {
      first = Codes::low_pair(words[step], by);
      second = Codes::high_pair(words[step], by);
      if (special) {
        first |= Codes::special_low(words[step]);
        second |= Codes::special_high(words[step]);
      }
    }
  }

  // Both pairs of any step of a unit, in BF16, wherever its codes lie.
  WGRAD_DEVICE static void read_pairs(const StageOperand& s, u32 row, u32 unit, u32 step, u32 by,
                                      u32& first, u32& second) {
    u32 words[kWords];
    read(s, row, unit, words);
    if constexpr (Codes::kPacked) {
      u32 all[4];
      Codes::pairs(step < 2 ? words[0] : words[1], by, all);
      first = step % 2 == 0 ? all[0] : all[2];
      second = step % 2 == 0 ? all[1] : all[3];
    } else {
      const u32 word =
          step < 2 ? (step == 0 ? words[0] : words[1]) : (step == 2 ? words[2] : words[3]);
      const bool special = (Codes::specials(word) & 0x80808080u) != 0;
      first = Codes::low_pair(word, by) | (special ? Codes::special_low(word) : 0);
      second = Codes::high_pair(word, by) | (special ? Codes::special_high(word) : 0);
    }
  }

  // Pair `which` of a step in a rendering, element by element.
  WGRAD_DEVICE static u32 rendered_pair(const StageOperand& s, u32 row, u32 unit, u32 step,
                                        u32 which, const Rendering& r) {
    const auto bits = [&](u32 code, u32 scale) { return rendered(S::kElement, code, scale, r); };
    constexpr u32 kApart = Codes::kPacked ? 2 : 1;
    const u32 token = unit * u32{kUnitTokens} + 4 * step + which * (2 / kApart);
    return S::element(s, row, token, bits) | S::element(s, row, token + kApart, bits) << 16;
  }
};

}  // namespace wgrad::device
