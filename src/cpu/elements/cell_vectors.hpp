// Cells by AVX-512: byte and word shuffles, float16 conversions, transpositions in registers.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>
#include <type_traits>

#include "cpu/elements/cells.hpp"
#include "cpu/elements/encodings.hpp"

namespace wgrad::cpu::vectors {

#define WGRAD_AVX512 [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]
#define WGRAD_AVX512_INLINE [[gnu::always_inline]] WGRAD_AVX512 inline

WGRAD_AVX512_INLINE __mmask32 first_of_32(int count) {
  return static_cast<__mmask32>((std::uint64_t{1} << count) - 1);
}

WGRAD_AVX512_INLINE __mmask16 first_of_16(int count) {
  return static_cast<__mmask16>((1U << count) - 1);
}

/// float16 bits of 32 codes in order, e4m3 ones 2^8 times smaller. Exact, NaN and infinity
/// included.
WGRAD_AVX512_INLINE __m512i f16_bits(E4m3, __m256i codes) {
  const __m512i not_bit14 = _mm512_set1_epi16(static_cast<short>(0xBFFF));
  const __m512i x = _mm512_and_si512(_mm512_slli_epi16(_mm512_cvtepi8_epi16(codes), 7), not_bit14);
  // Only the magnitude of NaN, 0x7F, carries into bit 14, which completes an exponent of ones.
  const __m512i carried = _mm512_add_epi16(x, _mm512_set1_epi16(0x80));
  return _mm512_ternarylogic_epi32(x, carried, _mm512_set1_epi16(0x4000), 0xF0 | (0xCC & 0xAA));
}

WGRAD_AVX512_INLINE __m512i f16_bits(E5m2, __m256i codes) {
  return _mm512_slli_epi16(_mm512_cvtepu8_epi16(codes), 8);
}

/// 32 codes of a byte each; of FP4 two in each byte, the even token's in the low half.
template <class In>
WGRAD_AVX512_INLINE __m512i load_f16(const std::uint8_t* from, int tokens) {
  if constexpr (std::is_same_v<In, E2m1>) {
    // e2m1's values as e5m2 codes
    const __m256i values = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0x38, 0x3C, 0x3E, 0x40, 0x42, 0x44, 0x46, static_cast<char>(0x80),
                      static_cast<char>(0xB8), static_cast<char>(0xBC), static_cast<char>(0xBE),
                      static_cast<char>(0xC0), static_cast<char>(0xC2), static_cast<char>(0xC4),
                      static_cast<char>(0xC6)));
    const __mmask16 bytes = first_of_16((tokens + 1) / 2);
    const __m256i wide = _mm256_cvtepu8_epi16(_mm_maskz_loadu_epi8(bytes, from));
    const __m256i nibbles =
        _mm256_and_si256(_mm256_or_si256(wide, _mm256_slli_epi16(wide, 4)), _mm256_set1_epi8(15));
    return f16_bits(E5m2{}, _mm256_shuffle_epi8(values, nibbles));
  } else {
    return f16_bits(In{}, _mm256_maskz_loadu_epi8(first_of_32(tokens), from));
  }
}

/// The 16 rows of two tokens.
template <class In>
WGRAD_AVX512_INLINE __m512i load_f16_pair(const std::uint8_t* even, const std::uint8_t* odd,
                                          __mmask16 even_rows, __mmask16 odd_rows) {
  const __m128i low = _mm_maskz_loadu_epi8(even_rows, even);
  const __m128i high = _mm_maskz_loadu_epi8(odd_rows, odd);
  return f16_bits(In{}, _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1));
}

struct FloatPair {
  __m512i first;
  __m512i second;
};

WGRAD_AVX512_INLINE FloatPair scaled(__m512i f16, __m512 first_scale, __m512 second_scale) {
  const __m512 first = _mm512_cvtph_ps(_mm512_castsi512_si256(f16));
  const __m512 second = _mm512_cvtph_ps(_mm512_extracti64x4_epi64(f16, 1));
  return {_mm512_castps_si512(_mm512_mul_ps(first, first_scale)),
          _mm512_castps_si512(_mm512_mul_ps(second, second_scale))};
}

/// Words 0, 2, 4 ... from the high halves of `even`, the others from those of `odd`.
WGRAD_AVX512_INLINE __m512i high_halves_by_turns(__m512i even, __m512i odd) {
  return _mm512_mask_mov_epi16(_mm512_srli_epi32(even, 16), 0xAAAAAAAAU, odd);
}

/// The high halves of `first`, then those of `second`.
WGRAD_AVX512_INLINE __m512i high_halves(__m512i first, __m512i second) {
  const __m512i odd_words =
      _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                       25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  return _mm512_permutex2var_epi16(first, odd_words, second);
}

/// The transpose of 16 x 16 double words.
WGRAD_AVX512_INLINE void transpose(__m512i (&v)[16]) {
  __m512i t[16];
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    const __m512i low01 = _mm512_unpacklo_epi32(v[i], v[i + 1]);
    const __m512i high01 = _mm512_unpackhi_epi32(v[i], v[i + 1]);
    const __m512i low23 = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]);
    const __m512i high23 = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
    // t[i + c]: column c of each 128-bit lane's four, rows i to i + 3
    t[i] = _mm512_unpacklo_epi64(low01, low23);
    t[i + 1] = _mm512_unpackhi_epi64(low01, low23);
    t[i + 2] = _mm512_unpacklo_epi64(high01, high23);
    t[i + 3] = _mm512_unpackhi_epi64(high01, high23);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    const __m512i low_even = _mm512_shuffle_i32x4(t[c], t[c + 4], 0x88);  // lanes 0 2, 0 2
    const __m512i low_odd = _mm512_shuffle_i32x4(t[c], t[c + 4], 0xDD);   // lanes 1 3, 1 3
    const __m512i high_even = _mm512_shuffle_i32x4(t[c + 8], t[c + 12], 0x88);
    const __m512i high_odd = _mm512_shuffle_i32x4(t[c + 8], t[c + 12], 0xDD);
    v[c] = _mm512_shuffle_i32x4(low_even, high_even, 0x88);
    v[c + 4] = _mm512_shuffle_i32x4(low_odd, high_odd, 0x88);
    v[c + 8] = _mm512_shuffle_i32x4(low_even, high_even, 0xDD);
    v[c + 12] = _mm512_shuffle_i32x4(low_odd, high_odd, 0xDD);
  }
}

/// Rows of tokens, as they lie in a K-major operand. `In` is void for bfloat16 itself. A whole cell
/// is told at compile time (kWhole), so that nothing in it is masked.
template <class In, int kVec, bool kWhole>
WGRAD_AVX512_INLINE void load_rows(const Cell& cell, __m512i (&v)[16]) {
  const int rows = kWhole ? 16 : cell.rows;
  const int tokens = kWhole ? 32 : cell.tokens;
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    v[i] = _mm512_setzero_si512();
    if (i >= rows) continue;
    const std::uint8_t* from = cell.from + i * cell.pitch;
    if constexpr (std::is_void_v<In>) {
      v[i] = _mm512_maskz_loadu_epi16(first_of_32(tokens), from);
    } else {
      const FloatPair floats = scaled(load_f16<In>(from, tokens), _mm512_set1_ps(cell.scales[i]),
                                      _mm512_set1_ps(cell.scales[kVec == 16 ? 16 + i : i]));
      v[i] = _mm512_maskz_mov_epi16(first_of_32(tokens), high_halves(floats.first, floats.second));
    }
  }
}

/// Pairs of tokens, each of all rows, from an MN-major operand.
template <class In, int kVec, bool kWhole>
WGRAD_AVX512_INLINE void load_pairs(const Cell& cell, __m512i (&v)[16]) {
  const __mmask16 rows = first_of_16(kWhole ? 16 : cell.rows);
  const int tokens = kWhole ? 32 : cell.tokens;
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    v[i] = _mm512_setzero_si512();
    if (2 * i >= tokens) continue;
    const bool both = 2 * i + 1 < tokens;
    const std::uint8_t* even = cell.from + std::int64_t{2} * i * cell.pitch;
    const std::uint8_t* odd = even + cell.pitch;
    if constexpr (std::is_void_v<In>) {
      const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(rows, even));
      const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(both ? rows : 0, odd));
      v[i] = _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
    } else {
      const __m512 scale = _mm512_loadu_ps(cell.scales + (kVec == 16 && i >= 8 ? 16 : 0));
      const FloatPair floats =
          scaled(load_f16_pair<In>(even, odd, rows, both ? rows : 0), scale, scale);
      v[i] = high_halves_by_turns(floats.first, floats.second);
      if (!both) v[i] = _mm512_maskz_mov_epi16(0x55555555U, v[i]);  // zero times NaN
    }
  }
}

template <class In, int kVec, CellOrder kOrder, Major kMajor, bool kWhole>
WGRAD_AVX512_INLINE void pack_part(const Cell& cell, std::uint16_t* to, std::int64_t pitch) {
  __m512i v[16];
  if constexpr (kMajor == Major::kK) {
    load_rows<In, kVec, kWhole>(cell, v);
  } else {
    load_pairs<In, kVec, kWhole>(cell, v);
  }
  if constexpr ((kMajor == Major::kK) != (kOrder == CellOrder::kRows)) transpose(v);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (!kWhole && kOrder == CellOrder::kRows && i >= cell.rows) break;
    _mm512_store_si512(to + i * pitch, v[i]);
  }
}

template <class In, int kVec, CellOrder kOrder, Major kMajor>
WGRAD_AVX512 void pack(const Cell& cell, std::uint16_t* to, std::int64_t pitch) {
  if (cell.rows == kCellRows && cell.tokens == kCellTokens) {
    pack_part<In, kVec, kOrder, kMajor, true>(cell, to, pitch);
  } else {
    pack_part<In, kVec, kOrder, kMajor, false>(cell, to, pitch);
  }
}

}  // namespace wgrad::cpu::vectors
#endif
