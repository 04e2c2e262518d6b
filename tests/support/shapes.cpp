#include "support/shapes.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "support/random.hpp"

namespace wgrad::test {
namespace {

Distribution distribution_of(const std::string& word) {
  if (word == "even") return Distribution::kEven;
  if (word == "jitter") return Distribution::kJitter;
  if (word == "zipf") return Distribution::kZipf;
  if (word == "hot") return Distribution::kHot;
  throw std::runtime_error("shapes file: unknown distribution '" + word + "'");
}

void shuffle(std::vector<double>& weights, Random& random) {
  for (std::size_t i = weights.size(); i-- > 1;) {
    std::swap(weights[i], weights[random.next() % (i + 1)]);
  }
}

std::vector<double> weights_of(const Shape& shape, Random& random) {
  std::vector<double> weights(static_cast<std::size_t>(shape.experts), 1.0);
  switch (shape.distribution) {
    case Distribution::kEven:
      break;
    case Distribution::kJitter:
      for (double& w : weights) w = 0.7 + 0.6 * random.uniform();
      break;
    case Distribution::kZipf:
      for (std::size_t e = 0; e < weights.size(); ++e)
        weights[e] = 1.0 / static_cast<double>(e + 1);
      shuffle(weights, random);
      break;
    case Distribution::kHot:
      weights[random.next() % weights.size()] = 4.0 * static_cast<double>(shape.experts);
      break;
  }
  return weights;
}

}  // namespace

std::vector<Shape> read_shapes() {
  std::ifstream file(WGRAD_SHAPES_FILE);
  if (!file) throw std::runtime_error("cannot read " WGRAD_SHAPES_FILE);
  std::vector<Shape> shapes;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Shape s;
    std::string distribution;
    if (!(words >> s.name >> s.experts >> s.m >> s.n >> s.tokens >> distribution)) {
      throw std::runtime_error("shapes file: cannot read '" + line + "'");
    }
    s.distribution = distribution_of(distribution);
    shapes.push_back(s);
  }
  return shapes;
}

Shape scaled_down(Shape s, std::int64_t divisor) {
  const auto scale = [divisor](std::int64_t extent) { return (extent / divisor + 7) / 8 * 8; };
  s.m = scale(s.m);
  s.n = scale(s.n);
  s.tokens /= divisor;
  return s;
}

std::vector<std::int64_t> token_counts(const Shape& shape, std::uint64_t seed) {
  Random random(seed);
  const std::vector<double> weights = weights_of(shape, random);
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> counts;
  double reached = 0;
  std::int64_t given = 0;
  for (const double w : weights) {
    reached += w;
    const auto end =
        static_cast<std::int64_t>(reached / total * static_cast<double>(shape.tokens) + 0.5);
    counts.push_back(end - given);
    given = end;
  }
  return counts;
}

}  // namespace wgrad::test
