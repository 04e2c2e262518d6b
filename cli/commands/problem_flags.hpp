// The flags that commands share: which shapes, and which problem for each.
#pragma once

#include <CLI/App.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/shapes.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::cli {

/// Values as typed.
struct ProblemFlags {
  std::vector<std::string> names;
  std::string shapes_file;
  std::int64_t experts = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t tokens = 0;
  std::vector<std::int64_t> counts;
  std::string distribution;  ///< "": even
  std::string scale;         ///< "", "auto" or a factor
  std::string format = "bf16";
  std::string out_dtype = "bf16";
  bool accumulate = false;
  bool fast_accumulation = false;
  std::string order = "tensor2d";
  std::string majors;  ///< "": MN-major, K-major where the format has no other
  std::string output = "dense";
  std::string scale_layout = "swizzled";
  bool global_scale = false;
  std::vector<int> tile;
  std::vector<int> cluster;
  std::uint64_t seed = 1;
};

/// `shapes`: what --help says of the names.
void add_problem_flags(CLI::App& app, ProblemFlags& flags,
                       const char* shapes = "Names from the shapes file, or 'all' (the default)");

/// A shape to work on; `counts` only where they were given by hand.
struct ShapeChoice {
  bench::Shape shape;
  std::vector<std::int64_t> counts;
  bool named = false;  ///< it comes from a shapes file
};

/// Throws ValueError where the flags name no shape or contradict each other.
std::vector<ShapeChoice> chosen_shapes(const ProblemFlags& flags);

/// The problem of `shape` under these flags. Throws ValueError for words that mean nothing.
Problem make_problem(const ProblemFlags& flags, const bench::Shape& shape);

/// "mn", "kk", ...: the contiguous axes of A and B.
std::string majors_text(const Problem& problem);

/// The number in --scale; nullopt where wgrad is to choose.
std::optional<double> scale_factor(const ProblemFlags& flags, bool named);

}  // namespace wgrad::cli
