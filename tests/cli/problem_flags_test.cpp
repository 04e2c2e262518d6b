#include "cli/commands/problem_flags.hpp"

#include <gtest/gtest.h>

#include "support/refusal.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::cli {
namespace {

const bench::Shape kShape = {"s", 4, 64, 48, 100, bench::Distribution::kEven};

ProblemFlags by_hand() {
  ProblemFlags flags;
  flags.m = 64;
  flags.n = 48;
  flags.counts = {3, 0, 5};
  return flags;
}

TEST(ProblemFlags, FormatsSetDtypesAndScales) {
  ProblemFlags flags;
  EXPECT_EQ(format_of(make_problem(flags, kShape)), Format::kSixteenBit);
  flags.format = "fp16";
  EXPECT_EQ(make_problem(flags, kShape).b_dtype, DType::kF16);
  flags.format = "mxfp8-e5m2";
  EXPECT_EQ(format_of(make_problem(flags, kShape)), Format::kMxfp8);
  EXPECT_EQ(make_problem(flags, kShape).a_dtype, DType::kE5m2);
  EXPECT_EQ(make_problem(flags, kShape).a_major, Major::kMn);
  flags.format = "mxfp4";
  EXPECT_EQ(format_of(make_problem(flags, kShape)), Format::kMxfp4);
  EXPECT_EQ(make_problem(flags, kShape).a_major, Major::kK);
  flags.format = "nvfp4";
  EXPECT_EQ(format_of(make_problem(flags, kShape)), Format::kNvfp4);
  EXPECT_EQ(make_problem(flags, kShape).scales->vec_size, 16);
  EXPECT_TRUE(make_problem(flags, kShape).scales->global_scale);
  flags.format = "fp8-rowwise-e5m2";
  EXPECT_EQ(format_of(make_problem(flags, kShape)), Format::kFp8Rowwise);
  EXPECT_EQ(make_problem(flags, kShape).b_dtype, DType::kE5m2);
  EXPECT_EQ(make_problem(flags, kShape).b_major, Major::kK);
  EXPECT_FALSE(make_problem(flags, kShape).fast_accumulation);
  flags.fast_accumulation = true;
  EXPECT_TRUE(make_problem(flags, kShape).fast_accumulation);
  flags.format = "fp8-1x128-e4m3";
  EXPECT_EQ(format_of(make_problem(flags, kShape)), Format::kFp8Blocks);
}

TEST(ProblemFlags, WordsReachTheProblem) {
  ProblemFlags flags;
  flags.out_dtype = "fp32";
  flags.accumulate = true;
  flags.order = "ragged";
  flags.majors = "kn";
  flags.output = "discrete";
  flags.tile = {128, 192};
  flags.cluster = {2, 1};
  const Problem p = make_problem(flags, kShape);
  EXPECT_EQ(p.wgrad_dtype, DType::kF32);
  EXPECT_TRUE(p.accumulate);
  EXPECT_EQ(p.input_order, InputOrder::kTensorRagged);
  EXPECT_EQ(p.a_major, Major::kK);
  EXPECT_EQ(p.b_major, Major::kMn);
  EXPECT_EQ(majors_text(p), "kn");
  EXPECT_EQ(p.output_mode, OutputMode::kDiscrete);
  EXPECT_EQ(p.tiling, (Tiling{128, 192, 2, 1}));
}

TEST(ProblemFlags, CountsGiveExpertsAndTokens) {
  const auto choices = chosen_shapes(by_hand());
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices[0].shape.experts, 3);
  EXPECT_EQ(choices[0].shape.tokens, 8);
  EXPECT_FALSE(choices[0].named);
}

std::string refused(const ProblemFlags& flags) {
  return test::refusal<ValueError>([&] {
    for (const ShapeChoice& choice : chosen_shapes(flags)) make_problem(flags, choice.shape);
  });
}

TEST(ProblemFlags, NothingIsSilentlyIgnored) {
  ProblemFlags flags = by_hand();
  flags.names = {"olmoe"};
  EXPECT_EQ(refused(flags),
            "wgrad: shapes are given by name and by --experts/--m/--n/--tokens/--counts; they must "
            "be given one way");
  const char* counts =
      "wgrad: --counts says which tokens each expert has; leave out --experts, --tokens, "
      "--distribution and --scale";
  flags = by_hand();
  flags.tokens = 8;
  EXPECT_EQ(refused(flags), counts);
  flags = by_hand();
  flags.scale = "0.5";
  EXPECT_EQ(refused(flags), counts);
  flags = by_hand();
  flags.n = 0;
  EXPECT_EQ(refused(flags),
            "wgrad: a shape by hand needs --m, --n and either --counts or --experts and --tokens");
  flags = {};
  flags.distribution = "zipf";
  EXPECT_EQ(refused(flags),
            "wgrad: --distribution is for a shape by hand; named shapes have their own");
  flags = {};
  flags.global_scale = true;
  EXPECT_EQ(refused(flags),
            "wgrad: --global-scale and --scale-layout need a block-scaled --format; it is bf16");
  flags = {};
  flags.shapes_file = "/no/such/shapes";
  EXPECT_EQ(refused(flags), "wgrad: --shapes-file /no/such/shapes cannot be read");
  flags.shapes_file = "/";
  EXPECT_EQ(refused(flags), "wgrad: --shapes-file / cannot be read") << "a folder";
}

TEST(ProblemFlags, CountsAddUpWithoutWrappingAround) {
  ProblemFlags flags = by_hand();
  flags.counts = {INT64_MAX, INT64_MAX, 10};
  EXPECT_EQ(refused(flags),
            "wgrad: counts[0] is 9223372036854775807; it must be from 0 to 2147483647: all experts "
            "have at most 2147483647 tokens");
}

TEST(ProblemFlags, ScaleIsAutomaticForNamedShapesOnly) {
  ProblemFlags flags;
  EXPECT_EQ(scale_factor(flags, true), std::nullopt);
  EXPECT_EQ(scale_factor(flags, false), 1.0);
  flags.scale = "0.25";
  EXPECT_EQ(scale_factor(flags, true), 0.25);
  flags.scale = "auto";
  EXPECT_EQ(scale_factor(flags, false), std::nullopt);
  for (const char* bad : {"0", "-1", "1.5", "half", "1x", "nan"}) {
    flags.scale = bad;
    EXPECT_EQ(
        test::refusal<ValueError>([&] { scale_factor(flags, true); }),
        std::string("wgrad: --scale is ") + bad + "; it must be 'auto' or above 0 and at most 1");
  }
}

}  // namespace
}  // namespace wgrad::cli
