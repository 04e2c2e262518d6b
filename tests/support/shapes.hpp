// The shapes file of the benchmarks, scaled down for tests, with its token distributions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wgrad::test {

enum class Distribution : std::uint8_t {
  kEven,    ///< T / E each
  kJitter,  ///< weights uniform in 0.7 .. 1.3
  kZipf,    ///< weights 1 / rank, shuffled over the experts
  kHot,     ///< one expert has 4E times the weight of each other
};

struct Shape {
  std::string name;
  std::int64_t experts = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t tokens = 0;
  Distribution distribution = Distribution::kEven;
};

/// bench/shapes.txt as it stands; throws std::runtime_error when a line cannot be read.
std::vector<Shape> read_shapes();

/// M, N and T divided by `divisor`, M and N then rounded up to a multiple of 8; E as it is.
Shape scaled_down(Shape shape, std::int64_t divisor);

/// k_e of every expert, summing to T; the same for the same seed everywhere.
std::vector<std::int64_t> token_counts(const Shape& shape, std::uint64_t seed);

}  // namespace wgrad::test
