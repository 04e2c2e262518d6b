// The loops behind lines.hpp, inlined into one function per instruction set.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "cpu/encodings.hpp"

namespace wgrad::cpu::loops {

struct F32Out {
  using Type = float;
  WGRAD_INLINE static float tile(float v) { return v; }
  WGRAD_INLINE static double load(float v) { return v; }
  WGRAD_INLINE static float rounded(double v) { return static_cast<float>(v); }
  WGRAD_INLINE static float sum(float acc, float old) { return acc + old; }
  WGRAD_INLINE static float plain(float acc) { return acc; }
};

struct Bf16Out {
  using Type = std::uint16_t;
  /// Decoded elements have at most 8 significant bits: dropping the rest is exact.
  WGRAD_INLINE static std::uint16_t tile(float v) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(v) >> 16);
  }
  WGRAD_INLINE static double load(std::uint16_t v) { return bf16_value(v); }
  WGRAD_INLINE static std::uint16_t rounded(double v) { return bf16_rounded(narrow_to_odd(v)); }
  WGRAD_INLINE static std::uint16_t sum(float acc, std::uint16_t old) {
    return bf16_rounded(sum_to_odd(acc, bf16_value(old)));
  }
  WGRAD_INLINE static std::uint16_t plain(float acc) { return bf16_rounded(acc); }
};

struct F16Out {
  using Type = std::uint16_t;
  WGRAD_INLINE static double load(std::uint16_t v) { return f16_value(v); }
  WGRAD_INLINE static std::uint16_t rounded(double v) { return f16_rounded(narrow_to_odd(v)); }
  WGRAD_INLINE static std::uint16_t sum(float acc, std::uint16_t old) {
    return f16_rounded(sum_to_odd(acc, f16_value(old)));
  }
  WGRAD_INLINE static std::uint16_t plain(float acc) { return f16_rounded(acc); }
};

struct Bf16In {
  WGRAD_INLINE static float value(std::uint16_t code) { return bf16_value(code); }
};

struct F16In {
  WGRAD_INLINE static float value(std::uint16_t code) { return f16_value(code); }
};

template <class In>
WGRAD_INLINE void widen_line(const void* in, void* out, std::int64_t n) {
  const auto* __restrict from = static_cast<const std::uint16_t*>(in);
  auto* __restrict to = static_cast<float*>(out);
  for (std::int64_t i = 0; i < n; ++i) to[i] = In::value(from[i]);
}

template <class In, class Out>
WGRAD_INLINE void scale_across(const std::uint8_t* in, const float* scale, void* out,
                               std::int64_t n) {
  const std::uint8_t* __restrict from = in;
  const float* __restrict by = scale;
  auto* __restrict to = static_cast<typename Out::Type*>(out);
  for (std::int64_t i = 0; i < n; ++i) to[i] = Out::tile(In::value(from[i]) * by[i]);
}

/// Both elements of every FP4 byte: looking pairs up beats unpacking nibbles into neighbours.
struct E2m1Pair {
  float low;
  float high;
};
constexpr std::array<E2m1Pair, 256> make_e2m1_pairs() {
  constexpr std::array<float, 8> kMagnitudes = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  const auto value = [&](unsigned code) {
    const float magnitude = kMagnitudes[code & 7U];
    return (code & 8U) != 0 ? -magnitude : magnitude;
  };
  std::array<E2m1Pair, 256> pairs{};
  for (unsigned byte = 0; byte < 256; ++byte) pairs[byte] = {value(byte & 15U), value(byte >> 4)};
  return pairs;
}
inline constexpr std::array<E2m1Pair, 256> kE2m1Pairs = make_e2m1_pairs();

/// `kCount` elements with one scale; constant, so that the loop unrolls.
template <class In, class Out, int kCount>
WGRAD_INLINE void scale_block(const std::uint8_t* __restrict from, float by,
                              typename Out::Type* __restrict to) {
  if constexpr (std::is_same_v<In, E2m1>) {
    std::array<E2m1Pair, kCount / 2> pairs;
    for (int i = 0; i < kCount / 2; ++i) pairs[i] = kE2m1Pairs[from[i]];
    const auto values = std::bit_cast<std::array<float, kCount>>(pairs);
    for (int i = 0; i < kCount; ++i) to[i] = Out::tile(values[i] * by);
  } else {
    for (int i = 0; i < kCount; ++i) to[i] = Out::tile(In::value(from[i]) * by);
  }
}

template <class In, class Out, int kVec>
WGRAD_INLINE void scale_blocks(const std::uint8_t* from, const float* scale, typename Out::Type* to,
                               std::int64_t n) {
  constexpr bool kPacked = std::is_same_v<In, E2m1>;
  constexpr int kBytes = kPacked ? kVec / 2 : kVec;
  for (; n >= kVec; n -= kVec, from += kBytes, to += kVec) {
    scale_block<In, Out, kVec>(from, *scale++, to);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const unsigned code = kPacked ? from[i / 2] >> (i % 2 * 4) & 15U : from[i];
    to[i] = Out::tile(In::value(code) * *scale);
  }
}

template <class In, class Out>
WGRAD_INLINE void scale_along(const std::uint8_t* in, const float* scale, int vec, void* out,
                              std::int64_t n) {
  auto* to = static_cast<typename Out::Type*>(out);
  if (vec == 32) {
    scale_blocks<In, Out, 32>(in, scale, to, n);
  } else {
    scale_blocks<In, Out, 16>(in, scale, to, n);
  }
}

/// A zero sum stays zero whatever the global scales are, infinite ones included.
WGRAD_INLINE double scaled(double sum, double factor) {
  return sum == 0 ? sum : sum * factor;
}

template <class Out, bool kAccumulate, bool kScaled>
WGRAD_INLINE void store_line(const float* acc, double factor, void* out, std::int64_t n) {
  const float* __restrict from = acc;
  auto* __restrict to = static_cast<typename Out::Type*>(out);
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (kScaled) {
      const double product = scaled(from[i], factor);
      to[i] = Out::rounded(kAccumulate ? product + Out::load(to[i]) : product);
    } else {
      to[i] = kAccumulate ? Out::sum(from[i], to[i]) : Out::plain(from[i]);
    }
  }
}

}  // namespace wgrad::cpu::loops
