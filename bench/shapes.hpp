// The shapes file: named problem sizes with a distribution of tokens over experts. For the command
// line, the benchmarks and the tests; shapes.py reads it for Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wgrad::bench {

/// How tokens spread over experts.
enum class Distribution : std::uint8_t {
  kEven,
  kJitter,  ///< 0.7 to 1.3 of even
  kZipf,    ///< proportional to 1/rank, ranks shuffled
  kHot,     ///< one expert has 4E times the weight of each other
};

/// One line of the file.
struct Shape {
  std::string name;
  std::int64_t experts = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t tokens = 0;
  Distribution distribution = Distribution::kEven;
};

/// "even", "jitter", "zipf", "hot".
std::string_view name(Distribution distribution) noexcept;

/// Throws ValueError naming the word and the ones that exist.
Distribution parse_distribution(std::string_view word);

/// The text of the shapes file this program was built with.
std::string_view builtin_shapes() noexcept;

/// Lines "name experts m n tokens distribution"; '#' starts a comment. `source` names the text in
/// errors. Throws ValueError with the line number.
std::vector<Shape> parse_shapes(std::string_view text, std::string_view source);

/// The shapes called `names`, in that order; all of them when `names` is empty or {"all"}.
/// Throws ValueError for an unknown name, listing the known ones.
std::vector<Shape> select_shapes(const std::vector<Shape>& shapes,
                                 const std::vector<std::string>& names);

}  // namespace wgrad::bench
