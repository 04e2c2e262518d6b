// The loops behind lines.hpp, inlined into one function per instruction set.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/code_groups.hpp"
#include "cpu/lines.hpp"
#include "cpu/output_types.hpp"

namespace wgrad::cpu::loops {

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

/// Element i of a line, for the rest that fills no group.
template <class In>
WGRAD_INLINE float element_value(const std::uint8_t* from, std::int64_t i) {
  if constexpr (std::is_same_v<In, E2m1>) return In::value(from[i / 2] >> (i % 2 * 4) & 15U);
  return In::value(from[i]);
}

template <class In, class Out>
WGRAD_INLINE void scale_across(const std::uint8_t* from, const float* __restrict scale, void* out,
                               std::int64_t n) {
  auto* __restrict to = static_cast<typename Out::Type*>(out);
  std::int64_t done = 0;
  for (; done + groups::kGroup <= n; done += groups::kGroup) {
    const groups::Group codes = groups::bf16_codes(In{}, from + done);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      groups::Floats by;
      std::memcpy(&by, scale + done + 8 * i, sizeof by);
      groups::put(groups::values(codes[i]) * by, to + done + 8 * i);
    }
  }
  for (; done < n; ++done) to[done] = Out::tile(element_value<In>(from, done) * scale[done]);
}

template <class In, class Out, int kVec>
WGRAD_INLINE void scale_blocks(const std::uint8_t* from, const float* scale, typename Out::Type* to,
                               std::int64_t n) {
  constexpr int kBytes = std::is_same_v<In, E2m1> ? groups::kGroup / 2 : groups::kGroup;
  for (; n >= groups::kGroup; n -= groups::kGroup) {
    const groups::Group codes = groups::bf16_codes(In{}, from);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      groups::put(groups::values(codes[i]) * scale[8 * i / kVec], to + 8 * i);
    }
    from += kBytes;
    scale += groups::kGroup / kVec;
    to += groups::kGroup;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    to[i] = Out::tile(element_value<In>(from, i) * scale[i / kVec]);
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

template <Scaling kScaling>
WGRAD_INLINE float finished(float sum, double factor) {
  if constexpr (kScaling == Scaling::kFloat) return sum * static_cast<float>(factor);
  if constexpr (kScaling == Scaling::kDouble) return static_cast<float>(scaled(sum, factor));
  return sum;
}

template <class Out, bool kAccumulate, Scaling kScaling>
WGRAD_INLINE void store_line(const float* acc, double factor, void* out, std::int64_t n) {
  const float* __restrict from = acc;
  auto* __restrict to = static_cast<typename Out::Type*>(out);
  for (std::int64_t i = 0; i < n; ++i) {
    const float value = finished<kScaling>(from[i], factor);
    to[i] = kAccumulate ? Out::sum(value, to[i]) : Out::plain(value);
  }
}

}  // namespace wgrad::cpu::loops
