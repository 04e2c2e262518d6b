// A lane's two rows of a unit in registers, as they lie in memory, and their values.
#pragma once

#include "wgrad/quantize/codes.hpp"
#include "wgrad/quantize/units.cuh"

namespace wgrad::device {

template <QuantizeConfig kConfig>
struct SourceBlock {
  static constexpr bool kWide = kConfig.source == SourceType::kFp32;
  static constexpr bool kAlongTokens = kConfig.order == SourceOrder::kTokens;
  static constexpr i32 kBytes = kWide ? 4 : 2;
  static constexpr i32 kWords = kUnitTokens * kBytes / 2;

  u32 word[kWords];

  // Where the element of row 0 or 1 lies: word, and half of it.
  static constexpr i32 word_of(i32 row, i32 token) {
    if (kWide) return kAlongTokens ? row * kUnitTokens + token : 2 * token + row;
    return kAlongTokens ? (row * kUnitTokens + token) / 2 : token;
  }
  static constexpr bool is_high(i32 row, i32 token) {
    return !kWide && (kAlongTokens ? token : row) % 2 != 0;
  }

  WGRAD_DEVICE float value(i32 row, i32 token) const {
    const u32 w = word[word_of(row, token)];
    if constexpr (kWide) return bits_as<float>(w);
    const bool high = is_high(row, token);
    if constexpr (kConfig.source == SourceType::kBf16)
      return bits_as<float>(high ? w & 0xffff0000u : w << 16);
    const arch::FloatPair pair = arch::unpack_fp16(w);
    return high ? pair.high : pair.low;
  }
  // Bits of the largest magnitudes of both rows among the tokens of a block, infinities and NaN
  // included. Of 16-bit sources in pairs.
  template <i32 kTokens>
  WGRAD_DEVICE void find_amax(i32 first, u32 (&amax)[2]) const {
    if constexpr (kWide) {
#pragma unroll
      for (i32 r = 0; r < 2; ++r) {
        amax[r] = 0;
#pragma unroll
        for (i32 t = 0; t < kTokens; ++t)
          amax[r] = max_of(amax[r], word[word_of(r, first + t)] & 0x7fffffffu);
      }
    } else {
      u32 most[2] = {0, 0};  // of two words' halves
#pragma unroll
      for (i32 r = 0; r < (kAlongTokens ? 2 : 1); ++r) {
#pragma unroll
        for (i32 t = 0; t < kTokens; t += kAlongTokens ? 2 : 1)
          most[r] = arch::max_u16_pairs(most[r], word[word_of(r, first + t)] & 0x7fff7fffu);
      }
#pragma unroll
      for (i32 r = 0; r < 2; ++r) {
        const u32 both = most[r];
        amax[r] = half_magnitude(kAlongTokens ? max_of(both & 0xffffu, both >> 16)
                                 : r == 0     ? most[0] & 0xffffu
                                              : most[0] >> 16);
      }
    }
  }
  // Of a 16-bit source without its sign.
  WGRAD_DEVICE static u32 half_magnitude(u32 half) {
    if constexpr (kConfig.source == SourceType::kBf16) return half << 16;
    return magnitude_bits(arch::unpack_fp16(half).low);
  }

  // Every value times a power of two, with infinities for what that is too large for. Not of FP16,
  // which has no such values.
  WGRAD_DEVICE void lift(float by) {
    const u32 both = bits_as<u32>(by) >> 16 | bits_as<u32>(by);
#pragma unroll
    for (i32 i = 0; i < kWords; ++i)
      word[i] =
          kWide ? bits_as<u32>(bits_as<float>(word[i]) * by) : arch::multiply_bf16(word[i], both);
  }

  WGRAD_DEVICE void set(i32 row, i32 token, u32 bits) {
    u32& w = word[word_of(row, token)];
    w = is_high(row, token) ? w | bits << 16 : kWide ? bits : w | bits;
  }

  WGRAD_DEVICE static u64 address(const QuantizeOperand& o, i64 row, i64 token) {
    return o.source + u64((row * o.row_stride + token * o.token_stride) * kBytes);
  }

  // One by one; what lies outside is zero.
  WGRAD_DEVICE void load_elements(const Unit& unit, i64 row) {
#pragma unroll
    for (i32 i = 0; i < kWords; ++i) word[i] = 0;
#pragma unroll
    for (i32 r = 0; r < 2; ++r) {
      const u64 first = address(unit.operand, row + r, unit.token);
      const u64 step = u64(unit.operand.token_stride * kBytes);
      if (row + r >= unit.operand.rows) continue;
#pragma unroll
      for (i32 t = 0; t < kUnitTokens; ++t) {
        if (t >= unit.tokens) continue;
        const u64 at = first + u64(t) * step;
        set(r, t, kWide ? arch::stream_u32(at) : arch::stream_u16(at));
      }
    }
  }
  // Both rows of a token at once; there is no row behind an odd count of them.
  template <bool kWhole>
  WGRAD_DEVICE void load_pairs(const Unit& unit, i64 row) {
    u64 at = address(unit.operand, row, unit.token);
    const u64 step = u64(unit.operand.token_stride * kBytes);
    const bool inside = row < unit.operand.rows;
#pragma unroll
    for (i32 t = 0; t < kUnitTokens; ++t, at += step) {
      const bool is_read = kWhole || (inside && t < unit.tokens);
      if constexpr (kWide) {
        const arch::HalfChunk c = is_read ? arch::stream_half(at) : arch::HalfChunk{{0, 0}};
        word[2 * t] = c.word[0];
        word[2 * t + 1] = c.word[1];
      } else {
        word[t] = is_read ? arch::stream_u32(at) : 0;
      }
    }
  }
  WGRAD_DEVICE void load_rows(const Unit& unit, i64 row) {
    constexpr i32 kChunks = kWords / 8;  // of a row
#pragma unroll
    for (i32 r = 0; r < 2; ++r) {
      const u64 first = address(unit.operand, row + r, unit.token);
      const bool inside = row + r < unit.operand.rows;
#pragma unroll
      for (i32 i = 0; i < kChunks; ++i) {
        const arch::Chunk c =
            inside ? arch::stream_chunk(first + u64(16 * i)) : arch::Chunk{{0, 0, 0, 0}};
#pragma unroll
        for (i32 j = 0; j < 4; ++j) word[(r * kChunks + i) * 4 + j] = c.word[j];
      }
    }
  }

  // Rows `row` and `row + 1`. All lanes of a warp agree on how.
  WGRAD_DEVICE void load(const Unit& unit, i64 row) {
    if constexpr (kConfig.order == SourceOrder::kRowPairs) {
      if (unit.tokens == kUnitTokens && unit.row + kUnitRows <= unit.operand.rows) {
        load_pairs<true>(unit, row);
      } else {
        load_pairs<false>(unit, row);
      }
    } else if constexpr (kConfig.order == SourceOrder::kTokens) {
      const QuantizeOperand& o = unit.operand;
      const u64 misplaced = (address(o, 0, unit.token) | u64(o.row_stride * kBytes)) % 16;
      if (unit.tokens == kUnitTokens && misplaced == 0) {
        load_rows(unit, row);
      } else {
        load_elements(unit, row);
      }
    } else {
      load_elements(unit, row);
    }
  }
};

// The values that are quantised: the source's, or their transform.
template <QuantizeConfig kConfig>
struct BlockValues {
  SourceBlock<kConfig> source;
  float transformed[kConfig.hadamard ? 2 * kUnitTokens : 1];

  WGRAD_DEVICE void load(const Unit& unit, i64 row, u32 signs) {
    source.load(unit, row);
    if constexpr (kConfig.hadamard) {
#pragma unroll
      for (i32 i = 0; i < 2 * kUnitTokens; ++i)
        transformed[i] = source.value(i / kUnitTokens, i % kUnitTokens);
#pragma unroll
      for (i32 block = 0; block < 4; ++block) {
        // A block that the expert's end cuts short stays as it is.
        if (unit.tokens >= block % 2 * 16 + 16) hadamard_block(transformed + 16 * block, signs);
      }
    }
  }
  static constexpr bool kCanLift = kConfig.hadamard || kConfig.source != SourceType::kFp16;
  WGRAD_DEVICE void lift(float by) {
    if constexpr (kConfig.hadamard) {
#pragma unroll
      for (i32 i = 0; i < 2 * kUnitTokens; ++i) transformed[i] *= by;
    } else {
      source.lift(by);
    }
  }
  template <i32 kTokens>
  WGRAD_DEVICE void find_amax(i32 first, u32 (&amax)[2]) const {
    if constexpr (kConfig.hadamard) {
#pragma unroll
      for (i32 r = 0; r < 2; ++r) {
        amax[r] = 0;
#pragma unroll
        for (i32 t = 0; t < kTokens; ++t)
          amax[r] = max_of(amax[r], magnitude_bits(transformed[r * kUnitTokens + first + t]));
      }
    } else {
      source.template find_amax<kTokens>(first, amax);
    }
  }
  WGRAD_DEVICE float value(i32 row, i32 token) const {
    if constexpr (kConfig.hadamard) return transformed[row * kUnitTokens + token];
    return source.value(row, token);
  }
};

}  // namespace wgrad::device
