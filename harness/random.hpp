// A small random generator whose numbers are the same on every platform and library.
#pragma once

#include <cmath>
#include <cstdint>

namespace wgrad::harness {

/// splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }

  /// Uniform in [low, high], both included.
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(next() % span);
  }

  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

  bool chance(double probability) { return uniform() < probability; }

  /// Standard normal (Box-Muller).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(6.283185307179586 * uniform());
  }

  template <typename T, std::size_t N>
  const T& pick(const T (&choices)[N]) {
    return choices[next() % N];
  }

 private:
  std::uint64_t state_;
};

}  // namespace wgrad::harness
