// Units of 16 tokens of K-major rows, as fragments of wgmma: a thread of a quad has one unit of a
// row, which gives it the pairs of four steps of 16 tokens. Of a decoded stage the quad's threads
// have every other unit of the raw stage, or the first four where there are no more: the order of
// tokens inside a stage is free, as long as both operands have the same.
#pragma once

#include "wgrad/sm90_scaled/raw_stage.cuh"

namespace wgrad::device {

inline constexpr i32 kUnitTokens = 16;
inline constexpr u32 kUnitsOfStage = 4;

// Which unit of a raw stage thread `quad` of a quad has in decoded stage `half`, of `left` tokens.
WGRAD_DEVICE u32 unit_of(u32 quad, u32 half, i32 left) {
  return left > i32{kUnitsOfStage} * kUnitTokens ? 2 * quad + half : quad;
}

// kCount words from `bytes` (below 4 * kExtra) bytes on; raw ones, kExtra more, are used up.
template <u32 kCount, u32 kExtra>
WGRAD_DEVICE void shift_words(u32 (&raw)[kCount + kExtra], u32 bytes, u32 (&words)[kCount]) {
  if constexpr (kExtra == 4) {
#pragma unroll
    for (u32 i = 0; i < kCount + 2; ++i) raw[i] = bytes & 8 ? raw[i + 2] : raw[i];
  }
#pragma unroll
  for (u32 i = 0; i < kCount + 1; ++i) raw[i] = bytes & 4 ? raw[i + 1] : raw[i];
#pragma unroll
  for (u32 i = 0; i < kCount; ++i)
    words[i] = u32((u64{raw[i + 1]} << 32 | raw[i]) >> (bytes % 4 * 8));
}

template <KernelConfig auto kConfig, bool kOfA>
struct UnitReader {
  using S = Side<kConfig, kOfA>;
  using Codes = typename S::Codes;
  static constexpr u32 kWords = kUnitTokens / Codes::kTokensOfWord;
  static constexpr u32 kPitch = u32(raw_pitch(kConfig, S::kElement));

  // `row`: the address of its first unit, which its tokens begin `shift` bytes into.
  WGRAD_DEVICE static void load(u32 row, u32 shift, u32 unit, u32 (&words)[kWords]) {
    if constexpr (Codes::kPacked) {
      const u32 at = unit * 8 + shift, from = row + at / 8 * 8;
      const arch::HalfChunk c = arch::load_shared_half(from);
      words[0] = c.word[0];
      words[1] = c.word[1];
      if (shift % 8 != 0) {
        const arch::HalfChunk d = arch::load_shared_half(from + 8);
        u32 raw[4] = {c.word[0], c.word[1], d.word[0], d.word[1]};
        shift_words<2, 2>(raw, shift % 8, words);
      }
    } else {
      const arch::Chunk c = arch::load_shared(row + unit * u32{kCopyUnit});
#pragma unroll
      for (u32 i = 0; i < 4; ++i) words[i] = c.word[i];
      if (shift != 0) {
        const arch::Chunk d = arch::load_shared(row + (unit + 1) * u32{kCopyUnit});
        u32 raw[8] = {c.word[0], c.word[1], c.word[2], c.word[3],
                      d.word[0], d.word[1], d.word[2], d.word[3]};
        shift_words<4, 4>(raw, shift, words);
      }
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

  WGRAD_DEVICE static u32 specials(const u32 (&words)[kWords]) {
    u32 any = 0;
    if constexpr (!Codes::kPacked) {
#pragma unroll
      for (u32 i = 0; i < kWords; ++i) any |= Codes::specials(words[i]);
    }
    return any & 0x80808080u;
  }

  // The codes of a unit and what they are multiplied by. `scale`: of a row in the matrix.
  WGRAD_DEVICE static u32 read(const StageOperand& s, u32 row, u32 unit, u32 (&words)[kWords]) {
    const i32 left = s.tokens - i32(unit) * kUnitTokens;
    load(s.codes + row * kPitch, row_shift(s, row), unit, words);
    if (left < kUnitTokens) mask(words, left);
    if (i32(row) >= s.rows || left <= 0) return 0;
    return Codes::multiplier(S::scale(s, row, unit * u32{kUnitTokens}));
  }

  // Both pairs of step `step` (a constant) of a unit.
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
};

}  // namespace wgrad::device
