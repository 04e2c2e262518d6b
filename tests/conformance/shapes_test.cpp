// The shapes file of the benchmarks, scaled down by one stated rule, in every format; the whole
// size with WGRAD_TEST_DIVISOR=1.
#include "bench/shapes.hpp"

#include <gtest/gtest.h>

#include <tuple>

#include "bench/token_counts.hpp"
#include "support/check.hpp"
#include "support/settings.hpp"

namespace wgrad::test {
namespace {

using bench::Shape;

std::vector<Shape> read_shapes() {
  return bench::parse_shapes(bench::builtin_shapes(), "shapes.txt");
}

/// M, N and T divided by `divisor`, M and N then rounded up to a multiple of 8; E as it is.
Shape scaled_down(Shape s, std::int64_t divisor) {
  const auto scale = [divisor](std::int64_t extent) { return (extent / divisor + 7) / 8 * 8; };
  s.m = scale(s.m);
  s.n = scale(s.n);
  s.tokens /= divisor;
  return s;
}

class Shapes : public testing::TestWithParam<std::tuple<Target, NamedFormat>> {
 protected:
  const Target& target() const { return std::get<0>(GetParam()); }
  const NamedFormat& format() const { return std::get<1>(GetParam()); }

  Case case_of(const Shape& shape, std::uint64_t seed) const {
    Case c;
    c.problem = problem_of(format(), shape.m, shape.n);
    c.counts = fit_counts(c.problem, bench::token_counts(shape, seed));
    c.seed = seed;
    return c;
  }
};

TEST_P(Shapes, IntegersBitForBit) {
  constexpr DType kDTypes[] = {DType::kF32, DType::kBf16, DType::kF16};
  std::uint64_t seed = 0;
  for (const Shape& shape : read_shapes()) {
    SCOPED_TRACE(shape.name);
    Case c = case_of(scaled_down(shape, settings().divisor), ++seed);
    c.problem.wgrad_dtype = kDTypes[seed % 3];
    c.problem.accumulate = seed % 2 == 0;
    c.slack = static_cast<std::int64_t>(seed);
    if (!is_k_major(format())) {
      c.problem.a_major = seed % 4 == 1 ? Major::kK : Major::kMn;
      c.problem.b_major = seed % 4 == 2 ? Major::kK : Major::kMn;
    }
    ASSERT_TRUE(conforms(target(), c));
  }
}

TEST_P(Shapes, NormalDataStaysWithinTheBound) {
  std::uint64_t seed = 100;
  for (const Shape& shape : read_shapes()) {
    SCOPED_TRACE(shape.name);
    Case c = case_of(scaled_down(shape, settings().divisor), ++seed);
    c.problem.wgrad_dtype = seed % 2 == 0 ? DType::kF32 : DType::kBf16;
    c.problem.output_mode = seed % 3 == 0 ? OutputMode::kDiscrete : OutputMode::kDense;
    c.data = DataKind::kNormal;
    ASSERT_TRUE(conforms(target(), c));
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, Shapes,
                         testing::Combine(testing::ValuesIn(judged_targets()),
                                          testing::ValuesIn(formats())),
                         [](const auto& param) {
                           return target_name(std::get<0>(param.param)) + "_" +
                                  std::get<1>(param.param).name;
                         });

TEST(ShapesFile, IsReadAndScaledByTheStatedRule) {
  const auto shapes = read_shapes();
  ASSERT_FALSE(shapes.empty());
  for (const Shape& shape : shapes) {
    const Shape small = scaled_down(shape, 64);
    EXPECT_EQ(small.experts, shape.experts);
    EXPECT_EQ(small.m % 8, 0);
    EXPECT_GE(small.m * 64, shape.m);
    EXPECT_LT((small.m - 8) * 64, shape.m);
    EXPECT_EQ(small.tokens, shape.tokens / 64);
  }
}

}  // namespace
}  // namespace wgrad::test
