#include "bench/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "wgrad/errors.hpp"

namespace wgrad::bench {
namespace {

constexpr std::array<std::pair<std::string_view, Distribution>, 4> kDistributions = {{
    {"even", Distribution::kEven},
    {"jitter", Distribution::kJitter},
    {"zipf", Distribution::kZipf},
    {"hot", Distribution::kHot},
}};

Shape parse_line(const std::string& line, std::string_view source, int number) {
  std::istringstream words(line);
  Shape shape;
  std::string distribution;
  std::string rest;
  words >> shape.name >> shape.experts >> shape.m >> shape.n >> shape.tokens >> distribution;
  if (!words || words >> rest) {
    throw ValueError(
        fmt::format("wgrad: {} line {} is '{}'; it must be 'name experts m n tokens distribution'",
                    source, number, line));
  }
  shape.distribution = parse_distribution(distribution);
  return shape;
}

std::string known_names(const std::vector<Shape>& shapes) {
  std::string names;
  for (const Shape& shape : shapes) names += (names.empty() ? "" : ", ") + shape.name;
  return names;
}

}  // namespace

std::string_view name(Distribution distribution) noexcept {
  return kDistributions[static_cast<std::size_t>(distribution)].first;
}

Distribution parse_distribution(std::string_view word) {
  for (const auto& [spelling, value] : kDistributions) {
    if (spelling == word) return value;
  }
  throw ValueError(
      fmt::format("wgrad: distribution is '{}'; it must be even, jitter, zipf or hot", word));
}

std::vector<Shape> parse_shapes(std::string_view text, std::string_view source) {
  std::vector<Shape> shapes;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line.resize(std::min(line.size(), line.find('#')));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    shapes.push_back(parse_line(line, source, number));
  }
  return shapes;
}

std::vector<Shape> select_shapes(const std::vector<Shape>& shapes,
                                 const std::vector<std::string>& names) {
  if (names.empty() || names == std::vector<std::string>{"all"}) return shapes;
  std::vector<Shape> chosen;
  for (const std::string& wanted : names) {
    if (wanted == "all") {
      throw ValueError(fmt::format("wgrad: shape is 'all' beside {} more; it must stand alone",
                                   names.size() - 1));
    }
    const auto found = std::find_if(shapes.begin(), shapes.end(),
                                    [&](const Shape& shape) { return shape.name == wanted; });
    if (found == shapes.end()) {
      throw ValueError(fmt::format("wgrad: shape is '{}'; it must be 'all' or one of {}", wanted,
                                   known_names(shapes)));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

}  // namespace wgrad::bench
