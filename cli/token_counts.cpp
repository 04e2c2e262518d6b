#include "cli/token_counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "wgrad/errors.hpp"

namespace wgrad::cli {
namespace {

std::vector<double> weights(const Shape& shape, std::mt19937_64& random) {
  std::vector<double> w(static_cast<std::size_t>(shape.experts), 1.0);
  switch (shape.distribution) {
    case Distribution::kEven:
      break;
    case Distribution::kJitter: {
      std::uniform_real_distribution<double> around(0.7, 1.3);
      for (double& x : w) x = around(random);
      break;
    }
    case Distribution::kZipf:
      for (std::size_t rank = 0; rank < w.size(); ++rank) w[rank] = 1.0 / (double(rank) + 1.0);
      std::shuffle(w.begin(), w.end(), random);
      break;
    case Distribution::kHot:
      w[random() % w.size()] = 4.0 * static_cast<double>(w.size());
      break;
  }
  return w;
}

}  // namespace

std::vector<std::int64_t> token_counts(const Shape& shape, std::uint64_t seed,
                                       std::int64_t multiple) {
  std::mt19937_64 random(seed);
  const std::vector<double> w = weights(shape, random);
  const double total = std::accumulate(w.begin(), w.end(), 0.0);
  const auto units = static_cast<double>(shape.tokens / multiple);
  // Rounding the cumulative sums keeps the total exact.
  std::vector<std::int64_t> counts;
  double sum = 0;
  std::int64_t end = 0;
  for (const double weight : w) {
    sum += weight;
    const auto next = static_cast<std::int64_t>(units * std::min(sum / total, 1.0) + 0.5);
    counts.push_back((next - end) * multiple);
    end = next;
  }
  counts.back() += (shape.tokens / multiple - end) * multiple;
  return counts;
}

std::vector<std::int32_t> cumulative_ends(std::span<const std::int64_t> counts) {
  std::vector<std::int32_t> ends;
  std::int64_t end = 0;
  for (const std::int64_t count : counts) {
    end += count;
    if (count < 0 || end > std::numeric_limits<std::int32_t>::max()) {
      throw ValueError(
          fmt::format("wgrad: counts are {} tokens in sum at expert {}; they must be non-negative "
                      "and at most {}",
                      end, ends.size(), std::numeric_limits<std::int32_t>::max()));
    }
    ends.push_back(static_cast<std::int32_t>(end));
  }
  return ends;
}

}  // namespace wgrad::cli
