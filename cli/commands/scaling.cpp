#include "cli/commands/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace wgrad::cli {
namespace {

constexpr double kFlopPerThread = 4e9;              // about 0.1 s on one AVX2 core
constexpr double kReferenceFlopPerThread = 0.05e9;  // plain loops in double
constexpr double kEmulatedFlop = 0.4e9;             // a few seconds
constexpr double kGpuFlop = 1e12;                   // seconds of making data on the host

std::int64_t times(std::int64_t extent, double factor, std::int64_t multiple) {
  const auto units = std::llround(static_cast<double>(extent) * factor / double(multiple));
  return std::max<std::int64_t>(units * multiple, 16);
}

double flop(const bench::Shape& s) {
  return 2.0 * static_cast<double>(s.tokens) * static_cast<double>(s.m) * static_cast<double>(s.n);
}

}  // namespace

bench::Shape scaled(const bench::Shape& shape, double factor) {
  if (factor == 1.0) return shape;
  bench::Shape s = shape;
  s.m = times(shape.m, factor, 16);
  s.n = times(shape.n, factor, 16);
  s.tokens = times(shape.tokens, factor, 2);
  return s;
}

double automatic_factor(const bench::Shape& shape, double flop_budget) {
  double factor = 1.0;
  while (flop(scaled(shape, factor)) > flop_budget && factor > 1.0 / 1024) factor /= 2;
  return factor;
}

double flop_budget(const std::string& backend, int threads) {
  if (backend == "cuda") return kGpuFlop;
  if (backend == "emu") return kEmulatedFlop;
  return std::max(threads, 1) * (backend == "reference" ? kReferenceFlopPerThread : kFlopPerThread);
}

std::string scaling_rule(const std::string& backend, int threads) {
  return fmt::format(
      "scale auto: M, N and T times the largest of 1, 1/2, 1/4, ... with 2*T*M*N <= {:.4g} GFLOP; "
      "--scale 1 runs full sizes",
      flop_budget(backend, threads) / 1e9);
}

}  // namespace wgrad::cli
