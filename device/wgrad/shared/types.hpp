// Fixed-width names that host compilers, nvcc and NVRTC (which sees no standard header) agree on.
#pragma once

namespace wgrad::shared {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using i32 = int;
using i64 = long long;

static_assert(sizeof(u8) == 1 && sizeof(u16) == 2 && sizeof(u32) == 4 && sizeof(u64) == 8);
static_assert(sizeof(i32) == 4 && sizeof(i64) == 8);

template <typename T>
constexpr T ceil_div(T value, T divisor) {
  return (value + divisor - 1) / divisor;
}

template <typename T>
constexpr T round_up(T value, T multiple) {
  return ceil_div(value, multiple) * multiple;
}

template <typename T>
constexpr T min_of(T x, T y) {
  return x < y ? x : y;
}

template <typename T>
constexpr T max_of(T x, T y) {
  return x > y ? x : y;
}

}  // namespace wgrad::shared
