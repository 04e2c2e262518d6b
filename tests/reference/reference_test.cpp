#include "wgrad/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support/check.hpp"
#include "support/random_case.hpp"

namespace wgrad::test {
namespace {

struct Sum {
  double value = 0;
  double absolute = 0;
};

/// The formula of the contract on logical values: knows nothing of memory.
Sum plain_sum(const CaseData& data, std::size_t e, std::int64_t i, std::int64_t j) {
  Sum sum;
  for (std::int64_t k = 0; k < data.source.counts[e]; ++k) {
    const double product = data.logical.a.value(i, e, k) * data.logical.b.value(j, e, k);
    sum.value += product;
    sum.absolute += std::abs(product);
  }
  if (!data.logical.a.global_scales.empty()) {
    const double global =
        double{data.logical.a.global_scales[e]} * double{data.logical.b.global_scales[e]};
    sum.value *= global;
    sum.absolute *= global;
  }
  return sum;
}

Bytes plain_output(const CaseData& data) {
  const Problem& p = data.source.problem;
  Bytes image = data.output.bytes();
  for (std::size_t e = 0; e < data.source.counts.size(); ++e) {
    if (p.accumulate && data.source.counts[e] == 0) continue;
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        const std::int64_t at = data.output.cell_offset(e, i, j);
        double value = plain_sum(data, e, i, j).value;
        if (p.accumulate) value += read_value(image, at, p.wgrad_dtype);
        const std::uint32_t code = nearest_code(p.wgrad_dtype, value);
        std::memcpy(image.data() + at, &code, static_cast<std::size_t>(bits(p.wgrad_dtype)) / 8);
      }
    }
  }
  return image;
}

void check(const Case& c) {
  const CaseData data(c);
  EXPECT_TRUE(same_image(data, oracle_output(data), plain_output(data)));
}

Case small_case(const NamedFormat& format) {
  Case c;
  c.problem = problem_of(format, 24, 16);
  c.problem.wgrad_dtype = DType::kF32;
  c.counts = {0, 38, 2, 0, 70, 33};
  c.slack = 9;
  return c;
}

TEST(Reference, FollowsTheFormulaInEveryFormatOrderAndMajor) {
  for (const NamedFormat& format : formats())
    for (const InputOrder order : {InputOrder::kTensor2d, InputOrder::kTensorRagged})
      for (const Major a : {Major::kK, Major::kMn})
        for (const Major b : {Major::kK, Major::kMn}) {
          if (is_k_major(format) && (a == Major::kMn || b == Major::kMn)) continue;
          Case c = small_case(format);
          c.problem.input_order = order;
          c.problem.a_major = a;
          c.problem.b_major = b;
          c.counts = fit_counts(c.problem, c.counts);
          check(c);
        }
}

TEST(Reference, FollowsTheFormulaInEveryOutputMode) {
  for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32})
    for (const bool accumulate : {false, true})
      for (const OutputMode mode : {OutputMode::kDense, OutputMode::kDiscrete})
        for (const std::int64_t pad : {0, 8}) {
          if (mode == OutputMode::kDiscrete && pad != 0) continue;
          Case c = small_case(formats()[0]);
          c.problem.wgrad_dtype = dtype;
          c.problem.accumulate = accumulate;
          c.problem.output_mode = mode;
          c.problem.wgrad_row_pitch = pad == 0 ? 0 : c.problem.n + pad;
          c.problem.wgrad_expert_stride = pad == 0 ? 0 : (c.problem.n + pad) * c.problem.m + 16;
          check(c);
        }
}

TEST(Reference, ReadsCompactAndSwizzledScalesAlike) {
  for (const NamedFormat& format : formats()) {
    if (!has_swizzled_scales(format)) continue;
    for (const ScaleLayout layout : {ScaleLayout::kSwizzled, ScaleLayout::kCompact}) {
      Case c = small_case(format);
      c.problem.m = 136;
      c.problem.scales->layout = layout;
      c.counts = {300, 2, 130};
      c.scale_col_pad = layout == ScaleLayout::kCompact ? 2 : 1;
      check(c);
    }
  }
}

TEST(Reference, FollowsTheFormulaOnRandomProblems) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Case c = random_case(seed, 3e5);
    c.data = DataKind::kIntegers;  // exact, so that no order of summation matters
    check(c);
  }
}

TEST(Reference, ElementAndMagnitudeAgreeWithTheFormula) {
  for (const NamedFormat& format : formats()) {
    Case c = small_case(format);
    c.data = DataKind::kNormal;
    const CaseData data(c);
    const Instance instance(data, host_device());
    for (std::size_t e = 0; e < c.counts.size(); ++e) {
      const Sum want = plain_sum(data, e, 5, 11);
      const auto at = static_cast<std::int64_t>(e);
      const auto got = reference::magnitude(problem(c), instance.operands(), at, 5, 11);
      EXPECT_NEAR(got.value, want.value, 1e-12 * want.absolute);
      EXPECT_NEAR(got.absolute_sum, want.absolute, 1e-12 * want.absolute);
      EXPECT_EQ(reference::element(problem(c), instance.operands(), at, 5, 11), got.value);
    }
  }
}

/// E = 1, M = 1, N = 8, bf16 output over 1 token: W = a * b with everything set by hand.
Case single_product(double a, double b) {
  Case c;
  c.problem = problem_of(formats()[0], 1, 8);
  c.counts = {1};
  c.adjust = [a, b](LogicalData& data) {
    data.a.set(0, 0, a);
    for (std::int64_t j = 0; j < 8; ++j) data.b.set(j, 0, b);
  };
  return c;
}

double first_cell(const Case& c) {
  const CaseData data(c);
  return read_value(oracle_output(data), data.output.cell_offset(0, 0, 0), c.problem.wgrad_dtype);
}

TEST(Reference, RoundsOnceToNearestEven) {
  EXPECT_EQ(first_cell(single_product(1.0078125, 1.0078125)), 1.015625);  // 1 + 2^-6 + 2^-14
  EXPECT_EQ(first_cell(single_product(1.5, 1.0078125)), 1.515625);        // tie, to even
  EXPECT_EQ(first_cell(single_product(3e38, 2)), std::numeric_limits<double>::infinity());
}

TEST(Reference, AddsTheExactResultBeforeRounding) {
  Case c = single_product(1.0, 1.0);
  c.problem.wgrad_dtype = DType::kF32;
  c.problem.accumulate = true;
  c.data = DataKind::kOnes;
  EXPECT_EQ(first_cell(c), 1.0);
  c.adjust = [](LogicalData& data) { data.a.set(0, 0, 0.0); };
  EXPECT_EQ(first_cell(c), 0.0);
}

TEST(Reference, NonFiniteProductsAreNotSkipped) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(std::isnan(first_cell(single_product(0.0, inf))));
  EXPECT_EQ(first_cell(single_product(-2.0, inf)), -inf);
}

TEST(Reference, AZeroSumStaysZeroUnderAnyGlobalScale) {
  for (const double scale : {0.0, 1.0, std::numeric_limits<double>::infinity()}) {
    Case c;
    c.problem = problem_of(formats()[7], 8, 8);
    ASSERT_TRUE(c.problem.scales->global_scale) << "NVFP4";
    c.counts = {32, 0, 32};
    c.adjust = [scale](LogicalData& data) {
      for (std::int64_t t = 0; t < 32; ++t) {
        for (std::int64_t i = 0; i < 8; ++i) data.a.set(i, t, 0.0);
      }
      data.a.global_scales[0] = data.a.global_scales[1] = static_cast<float>(scale);
    };
    const CaseData data(c);
    const Bytes out = oracle_output(data);
    EXPECT_EQ(read_code(out, data.output.cell_offset(0, 3, 3), DType::kBf16), 0U);
    EXPECT_EQ(read_code(out, data.output.cell_offset(1, 3, 3), DType::kBf16), 0U);
  }
}

}  // namespace
}  // namespace wgrad::test
