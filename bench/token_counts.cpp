#include "bench/token_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

#include "wgrad/errors.hpp"

namespace wgrad::bench {
namespace {

/// The standard's engines give the same numbers everywhere; its distributions and std::shuffle may
/// not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::size_t below(std::size_t end) { return static_cast<std::size_t>(engine_() % end); }
  /// In [0, 1).
  double uniform() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

void shuffle(std::vector<double>& values, Random& random) {
  for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[random.below(i + 1)]);
}

std::vector<double> weights(const Shape& shape, Random& random) {
  std::vector<double> w(static_cast<std::size_t>(shape.experts), 1.0);
  switch (shape.distribution) {
    case Distribution::kEven:
      break;
    case Distribution::kJitter:
      for (double& x : w) x = 0.7 + 0.6 * random.uniform();
      break;
    case Distribution::kZipf:
      for (std::size_t rank = 0; rank < w.size(); ++rank) {
        w[rank] = 1.0 / static_cast<double>(rank + 1);
      }
      shuffle(w, random);
      break;
    case Distribution::kHot:
      w[random.below(w.size())] = 4.0 * static_cast<double>(w.size());
      break;
  }
  return w;
}

}  // namespace

std::vector<std::int64_t> token_counts(const Shape& shape, std::uint64_t seed,
                                       std::int64_t multiple) {
  Random random(seed);
  const std::vector<double> w = weights(shape, random);
  const double total = std::accumulate(w.begin(), w.end(), 0.0);
  const std::int64_t whole = shape.tokens / multiple;
  const auto units = static_cast<double>(whole);
  // Rounding the cumulative sums keeps the total exact.
  std::vector<std::int64_t> counts;
  double sum = 0;
  std::int64_t end = 0;
  for (const double weight : w) {
    sum += weight;
    const auto next = static_cast<std::int64_t>(std::llround(units * std::min(sum / total, 1.0)));
    counts.push_back((next - end) * multiple);
    end = next;
  }
  counts.back() += (whole - end) * multiple;
  return counts;
}

std::vector<std::int32_t> cumulative_ends(std::span<const std::int64_t> counts) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::vector<std::int32_t> ends;
  std::int64_t end = 0;
  for (const std::int64_t count : counts) {
    if (count < 0 || count > kMost - end) {
      throw ValueError(fmt::format(
          "wgrad: counts[{}] is {}; it must be from 0 to {}: all experts have at most {} tokens",
          ends.size(), count, kMost - end, kMost));
    }
    end += count;
    ends.push_back(static_cast<std::int32_t>(end));
  }
  return ends;
}

}  // namespace wgrad::bench
