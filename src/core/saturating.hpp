// Sums and products of extents that stop at the largest number instead of wrapping around: what
// does not fit stays too large for every bound.
#pragma once

#include <cstdint>
#include <limits>

namespace wgrad::core {

/// a + b, neither negative.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::int64_t>::max() : sum;
}

/// a * b, neither negative.
constexpr std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) noexcept {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max()
                                                : product;
}

}  // namespace wgrad::core
