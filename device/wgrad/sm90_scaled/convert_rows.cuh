// K-major rows of a raw stage, decoded by one thread each: 16 bytes of codes are 16 or 32 tokens,
// which stay in their row.
#pragma once

#include "wgrad/sm90_scaled/raw_stage.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig, bool kOfA>
struct RowConverter {
  using S = Side<kConfig, kOfA>;
  using Codes = typename S::Codes;
  static constexpr u32 kWordsOfBlock = kBlockTokens / Codes::kTokensOfWord;
  static constexpr u32 kUnits = kWordsOfBlock / 4;
  static constexpr u32 kPitch = u32(raw_pitch(kConfig, S::kElement));
  static constexpr u32 kColumns = u32(block_columns(kConfig));

  // The codes of a block of 32 tokens, `shift` bytes into its first unit.
  WGRAD_DEVICE static void load_words(u32 unit, u32 shift, u32 (&words)[kWordsOfBlock]) {
    u32 raw[kWordsOfBlock + 4];
    const auto load = [&](u32 i) {
      const arch::Chunk c = arch::load_shared(unit + i * u32{kCopyUnit});
#pragma unroll
      for (u32 j = 0; j < 4; ++j) raw[4 * i + j] = c.word[j];
    };
#pragma unroll
    for (u32 i = 0; i < kUnits; ++i) load(i);
    if (shift != 0) {
      load(kUnits);
#pragma unroll
      for (u32 i = 0; i < kWordsOfBlock + 2; ++i) raw[i] = shift & 8 ? raw[i + 2] : raw[i];
#pragma unroll
      for (u32 i = 0; i < kWordsOfBlock + 1; ++i) raw[i] = shift & 4 ? raw[i + 1] : raw[i];
#pragma unroll
      for (u32 i = 0; i < kWordsOfBlock; ++i)
        raw[i] = u32((u64{raw[i + 1]} << 32 | raw[i]) >> (shift % 4 * 8));
    }
#pragma unroll
    for (u32 i = 0; i < kWordsOfBlock; ++i) words[i] = raw[i];
  }

  // Tokens from `left` on are foreign.
  WGRAD_DEVICE static void mask(u32 (&words)[kWordsOfBlock], i32 left) {
    if (left >= kBlockTokens) return;
    constexpr i32 kOfWord = i32{Codes::kTokensOfWord};
#pragma unroll
    for (i32 i = 0; i < i32{kWordsOfBlock}; ++i) {
      const i32 kept = max_of(left - i * kOfWord, 0);
      if (kept < kOfWord) words[i] &= (1u << (kept * (32 / kOfWord))) - 1;
    }
  }

  WGRAD_DEVICE static u32 specials(const u32 (&words)[kWordsOfBlock]) {
    u32 any = 0;
#pragma unroll
    for (u32 i = 0; i < kWordsOfBlock; ++i) any |= Codes::specials(words[i]);
    return any & 0x80808080u;
  }

  // Element by element: `bits(code, scale)`.
  template <typename Bits>
  WGRAD_DEVICE static void write_each(const StageOperand& s, u32 row, u32 block, const Bits& bits) {
#pragma unroll 1
    for (u32 pair = 0; pair < kBlockTokens / 2; ++pair) {
      const u32 in_block = Codes::kPacked ? pair / 2 * 4 + pair % 2 : 2 * pair;
      const u32 token = block * kBlockTokens + in_block;
      const u32 other = token + (Codes::kPacked ? 2 : 1);
      const u32 value = S::element(s, row, token, bits) | S::element(s, row, other, bits) << 16;
      arch::store_shared_u32(swizzled(s.tile, row, 4 * block + pair / 4) + pair % 4 * 4, value);
    }
  }

  WGRAD_DEVICE static void write_block(const StageOperand& s, u32 row, u32 block,
                                       const u32 (&words)[kWordsOfBlock],
                                       const u32 (&by)[kColumns]) {
    constexpr u32 kWordsOfChunk = 4 / Codes::kPairsOfWord;
#pragma unroll
    for (u32 chunk = 0; chunk < 4; ++chunk) {
      arch::Chunk c{};
#pragma unroll
      for (u32 i = 0; i < kWordsOfChunk; ++i) {
        u32 pairs[Codes::kPairsOfWord];
        Codes::pairs(words[chunk * kWordsOfChunk + i], by[chunk * 8 / S::kVec], pairs);
#pragma unroll
        for (u32 j = 0; j < Codes::kPairsOfWord; ++j)
          c.word[i * Codes::kPairsOfWord + j] = pairs[j];
      }
      arch::store_shared(swizzled(s.tile, row, 4 * block + chunk), c);
    }
  }

  // What block `block` of a row is multiplied by.
  WGRAD_DEVICE static void multipliers(const StageOperand& s, u32 row, u32 block, u32 codes,
                                       u32 (&by)[kColumns]) {
#pragma unroll
    for (u32 i = 0; i < kColumns; ++i) {
      const u32 first = block * kBlockTokens + i * S::kVec;
      const u32 scale = codes >> (8 * (block * kColumns + i)) & 0xff;
      by[i] = i32(row) < s.rows && s.tokens > i32(first) ? Codes::multiplier_or_zero(scale) : 0;
    }
  }

  // A row whose scales are all direct. All of it is looked at before any is written: one branch
  // leaves the rest to be interleaved.
  WGRAD_DEVICE static void convert(const StageOperand& s, u32 row) {
    constexpr u32 kBlocks = stage_blocks(kConfig);
    const u32 codes = i32(row) < s.rows ? S::scale_codes(s, row) : 0;
    const u32 shift = row_shift(s, row);
    u32 words[kBlocks][kWordsOfBlock], special = 0;
#pragma unroll
    for (u32 block = 0; block < kBlocks; ++block) {
      load_words(s.codes + row * kPitch + block * kUnits * u32{kCopyUnit}, shift, words[block]);
    }
    if (s.tokens < kConfig.tile_k) {
#pragma unroll
      for (u32 block = 0; block < kBlocks; ++block)
        mask(words[block], s.tokens - i32(block * kBlockTokens));
    }
    if constexpr (!Codes::kPacked) {
#pragma unroll
      for (u32 block = 0; block < kBlocks; ++block) special |= specials(words[block]);
    }
    if (special != 0) {
#pragma unroll 1
      for (u32 block = 0; block < kBlocks; ++block) {
        write_each(s, row, block,
                   [](u32 code, u32 scale) { return exact_bits(S::kElement, code, scale); });
      }
      return;
    }
#pragma unroll
    for (u32 block = 0; block < kBlocks; ++block) {
      u32 by[kColumns];
      multipliers(s, row, block, codes, by);
      write_block(s, row, block, words[block], by);
    }
  }
};

}  // namespace wgrad::device
