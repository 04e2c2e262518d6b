// The loops behind lines.hpp, inlined into one function per instruction set.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/elements/code_groups.hpp"
#include "cpu/elements/lines.hpp"
#include "cpu/elements/output_types.hpp"

namespace wgrad::cpu::loops {

struct Bf16In {
  WGRAD_INLINE static float value(std::uint16_t code) { return bf16_value(code); }
};

struct F16In {
  WGRAD_INLINE static float value(std::uint16_t code) { return f16_value(code); }
};

template <class In>
WGRAD_INLINE void widen_line(const void* in, float* out, std::int64_t n) {
  const auto* __restrict from = static_cast<const std::uint16_t*>(in);
  float* __restrict to = out;
  for (std::int64_t i = 0; i < n; ++i) to[i] = In::value(from[i]);
}

template <class In>
constexpr std::int64_t kGroupBytes = std::is_same_v<In, E2m1> ? groups::kGroup / 2 : groups::kGroup;

/// The codes of `count` elements, fewer than a group: nothing behind them is read.
template <class In>
WGRAD_INLINE groups::Group rest_codes(const std::uint8_t* from, std::int64_t count) {
  std::uint8_t bytes[groups::kGroup] = {};
  const std::int64_t size = std::is_same_v<In, E2m1> ? (count + 1) / 2 : count;
  std::memcpy(bytes, from, static_cast<std::size_t>(size));
  return groups::bf16_codes(In{}, bytes);
}

WGRAD_INLINE void scale_group(const groups::Group& codes, const float* scale, float* to) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    groups::Floats by;
    std::memcpy(&by, scale + 8 * i, sizeof by);
    groups::put(groups::values(codes[i]) * by, to + 8 * i);
  }
}

template <class In>
WGRAD_INLINE void scale_across(const std::uint8_t* from, const float* __restrict scale, float* to,
                               std::int64_t n) {
  std::int64_t done = 0;
  for (; done + groups::kGroup <= n; done += groups::kGroup) {
    scale_group(groups::bf16_codes(In{}, from + done), scale + done, to + done);
  }
  if (done == n) return;
  const auto count = static_cast<std::size_t>(n - done);
  float scales[groups::kGroup] = {};
  std::memcpy(scales, scale + done, count * sizeof *scale);
  float rest[groups::kGroup];  // NOLINT(cppcoreguidelines-pro-type-member-init): written whole
  scale_group(rest_codes<In>(from + done, n - done), scales, rest);
  std::memcpy(to + done, rest, count * sizeof *to);
}

/// A group of `count` elements under the scales of its blocks.
template <int kVec>
WGRAD_INLINE void scale_group_blocks(const groups::Group& codes, const float* scale,
                                     std::int64_t count, float* to) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t block = 8 * i / kVec;
    const float by = static_cast<std::int64_t>(block) * kVec < count ? scale[block] : 0.0F;
    groups::put(groups::values(codes[i]) * by, to + 8 * i);
  }
}

template <class In, int kVec>
WGRAD_INLINE void scale_blocks(const std::uint8_t* from, const float* scale, float* to,
                               std::int64_t n) {
  for (; n >= groups::kGroup; n -= groups::kGroup) {
    scale_group_blocks<kVec>(groups::bf16_codes(In{}, from), scale, groups::kGroup, to);
    from += kGroupBytes<In>;
    scale += groups::kGroup / kVec;
    to += groups::kGroup;
  }
  if (n == 0) return;
  float rest[groups::kGroup];  // NOLINT(cppcoreguidelines-pro-type-member-init): written whole
  scale_group_blocks<kVec>(rest_codes<In>(from, n), scale, n, rest);
  std::memcpy(to, rest, static_cast<std::size_t>(n) * sizeof *to);
}

template <class In>
WGRAD_INLINE void scale_along(const std::uint8_t* in, const float* scale, int vec, float* to,
                              std::int64_t n) {
  if (vec == 32) {
    scale_blocks<In, 32>(in, scale, to, n);
  } else {
    scale_blocks<In, 16>(in, scale, to, n);
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
