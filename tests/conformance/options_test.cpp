// Every combination of input order, majors, output mode, dtype, accumulate, strides and scale
// layout, on counts that include 0, 1 and odd ones.
#include <gtest/gtest.h>

#include <bit>
#include <tuple>

#include "support/check.hpp"

namespace wgrad::test {
namespace {

class Options : public testing::TestWithParam<std::tuple<Target, NamedFormat>> {
 protected:
  const Target& target() const { return std::get<0>(GetParam()); }
  const NamedFormat& format() const { return std::get<1>(GetParam()); }
  bool block_scaled() const { return format().format != Format::kSixteenBit; }

  void zeros_under_any_float() const;

  /// Every input order and pair of majors.
  std::vector<Case> inputs() const {
    std::vector<Case> cases = input_variants(format(), 72, 40, {38, 0, 2, 131, 1, 0, 77});
    for (Case& c : cases) c.slack = 11;
    if (format().format == Format::kFp8Rowwise) {  // in either kind of sums
      for (std::size_t i = 0, count = cases.size(); i < count; ++i) {
        cases.push_back(cases[i]);
        cases.back().problem.fast_accumulation = true;
      }
    }
    return cases;
  }

  /// Calls visit(case) for each output mode, dtype and accumulate.
  template <typename Visit>
  static void for_each_output(Case c, Visit visit) {
    for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32})
      for (const bool accumulate : {false, true}) {
        c.problem.wgrad_dtype = dtype;
        c.problem.accumulate = accumulate;
        visit(c);
        Case strided = c;
        strided.problem.wgrad_row_pitch = c.problem.n + 24;
        strided.problem.wgrad_expert_stride = c.problem.m * (c.problem.n + 24) + 8;
        visit(strided);
        Case discrete = c;
        discrete.problem.output_mode = OutputMode::kDiscrete;
        visit(discrete);
      }
  }
};

TEST_P(Options, EveryInputTimesEveryOutput) {
  for (const Case& input : inputs()) {
    for_each_output(input, [this](const Case& c) { ASSERT_TRUE(conforms(target(), c)); });
  }
}

// Boxes of K-major operands then start at 128-byte lines, before the expert's first token.
TEST_P(Options, RowsOfWhole128Bytes) {
  for (Case c : inputs()) {
    c.slack = (128 - covered_tokens(c) % 128) % 128;
    for (const DType dtype : {DType::kBf16, DType::kF32}) {
      c.problem.wgrad_dtype = dtype;
      ASSERT_TRUE(conforms(target(), c));
    }
  }
}

TEST_P(Options, PaddedStridesHoldNanAndAreNotRead) {
  for (Case c : inputs()) {
    for (const auto& [a_pad, b_pad] : {std::pair{1, 0}, {0, 3}, {2, 2}}) {
      c.a_pad = a_pad;
      c.b_pad = b_pad;
      for (const Poison poison : {Poison::kNan, Poison::kInfinity}) {
        c.poison = poison;
        ASSERT_TRUE(conforms(target(), c));
      }
    }
  }
}

TEST_P(Options, ScaleLayoutsAndTheirPaddings) {
  if (!block_scaled()) {
    Case c;
    c.problem = problem_of(format(), 72, 40);
    c.counts = {5};
    ASSERT_FALSE(c.problem.scales) << "a 16-bit format has no scale factors to lay out";
    return;
  }
  for (Case c : inputs()) {
    for (const ScaleLayout layout : {ScaleLayout::kSwizzled, ScaleLayout::kCompact}) {
      if (layout == ScaleLayout::kSwizzled && !has_swizzled_scales(format())) continue;
      for (const int padding : {0x00, 0x7F, 0xFF})
        for (const std::int64_t extra : {0, 2}) {
          c.problem.scales->layout = layout;
          c.scale_padding = static_cast<std::uint8_t>(padding);
          c.scale_col_pad = extra;
          c.problem.scales->global_scale = !scales_whole_rows(c.problem);
          ASSERT_TRUE(conforms(target(), c));
        }
    }
  }
}

/// All elements of the first row are zeros, under scale factors of `code`.
void zero_row_under(LogicalOperand& of, std::uint32_t code) {
  for (std::int64_t t = 0; t < of.tokens(); ++t) of.code(0, t) = 0;
  for (std::int64_t col = 0; col < of.cols(); ++col) of.scale_code(0, col) = code;
}

/// Finite ones: an infinite or NaN factor makes NaN of a zero, as IEEE has it.
void Options::zeros_under_any_float() const {
  for (Case c : input_variants(format(), 80, 48, {38, 0, 2, 131, 1, 0, 77})) {
    for (const float scale : {0.0F, 1e-45F, 1e-38F, -3.0F, 3e38F}) {
      c.adjust = [scale](LogicalData& data) {
        for (LogicalOperand* o : {&data.a, &data.b}) {
          zero_row_under(*o, std::bit_cast<std::uint32_t>(scale));
          for (std::size_t at = 0; at < o->row_scales.size(); at += std::size_t(o->rows))
            o->row_scales[at] = scale;
        }
      };
      ASSERT_TRUE(conforms(target(), c)) << scale;
    }
  }
}

TEST_P(Options, ZerosUnderAnyScaleAreZeros) {
  if (!block_scaled()) {
    ASSERT_EQ(format().a, format().b) << "a 16-bit format has no scale factors";
    return;
  }
  if (format().scale_dtype == DType::kF32) return zeros_under_any_float();
  // MN-major rows of whole 16 bytes, which no backend refuses.
  for (Case c : input_variants(format(), 80, 48, {38, 0, 2, 131, 1, 0, 77})) {
    // e8m0: what a decoder of e4m3, e5m2 or e2m1 by BF16 takes for infinity, and the ends.
    for (const int code : {0, 1, 134, 135, 136, 142, 143, 144, 253, 254}) {
      const bool e4m3 = c.problem.scales->dtype == DType::kE4m3;
      if (e4m3 && (code & 0x7F) == 0x7F) continue;  // NaN
      c.adjust = [code](LogicalData& data) {
        zero_row_under(data.a, static_cast<std::uint32_t>(code));
        zero_row_under(data.b, static_cast<std::uint32_t>(code));
      };
      ASSERT_TRUE(conforms(target(), c)) << code;
    }
  }
}

TEST_P(Options, NormalDataStaysWithinTheBound) {
  for (Case c : inputs()) {
    c.data = DataKind::kNormal;
    c.counts = fit_counts(c.problem, {520, 0, 66, 301, 1});
    for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32}) {
      for (const bool accumulate : {false, true}) {
        c.problem.wgrad_dtype = dtype;
        c.problem.accumulate = accumulate;
        ASSERT_TRUE(conforms(target(), c));
      }
    }
  }
}

TEST_P(Options, ExtentsAroundTileBoundaries) {
  for (const auto& [m, n] : {std::pair{1, 8}, {129, 8}, {8, 264}, {520, 136}, {136, 1032}}) {
    Case c;
    c.problem = problem_of(format(), m, n);
    c.problem.wgrad_dtype = DType::kF32;
    c.counts = fit_counts(c.problem, {1, 64, 513, 127, 0, 255});
    c.slack = 5;
    ASSERT_TRUE(conforms(target(), c));
  }
}

TEST_P(Options, WidthsThatOnlyAPaddedPitchAllows) {
  for (const std::int64_t n : {1, 7, 43, 100}) {
    Case c;
    c.problem = problem_of(format(), 37, n);
    c.problem.wgrad_row_pitch = (n + 7) / 8 * 8 + 8;
    c.counts = fit_counts(c.problem, {33, 0, 96});
    ASSERT_TRUE(conforms(target(), c));
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, Options,
                         testing::Combine(testing::ValuesIn(judged_targets()),
                                          testing::ValuesIn(formats())),
                         [](const auto& param) {
                           return target_name(std::get<0>(param.param)) + "_" +
                                  std::get<1>(param.param).name;
                         });

}  // namespace
}  // namespace wgrad::test
