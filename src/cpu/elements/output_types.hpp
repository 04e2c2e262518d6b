// Types that sums are stored as: float32, bfloat16, float16.
#pragma once

#include <cstdint>

#include "cpu/elements/encodings.hpp"

namespace wgrad::cpu::loops {

struct F32Out {
  using Type = float;
  WGRAD_INLINE static double load(float v) { return v; }
  WGRAD_INLINE static float rounded(double v) { return static_cast<float>(v); }
  WGRAD_INLINE static float sum(float acc, float old) { return acc + old; }
  WGRAD_INLINE static float plain(float acc) { return acc; }
};

struct Bf16Out {
  using Type = std::uint16_t;
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

/// A zero sum stays zero whatever the global scales are, infinite ones included.
WGRAD_INLINE double scaled(double sum, double factor) {
  return sum == 0 ? sum : sum * factor;
}

}  // namespace wgrad::cpu::loops
