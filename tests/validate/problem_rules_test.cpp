#include "validate/problem_rules.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/sentences.hpp"

namespace wgrad {
namespace {

using Change = std::function<void(Problem&)>;

Problem plain() {
  Problem p;
  p.experts = 4;
  p.m = 64;
  p.n = 48;
  p.tokens = 100;
  return p;
}

Problem nvfp4() {
  Problem p = plain();
  p.a_dtype = p.b_dtype = DType::kE2m1;
  p.a_major = p.b_major = Major::kK;
  p.scales = ScaleSpec{DType::kE4m3, 16, ScaleLayout::kSwizzled, true};
  return p;
}

Problem mxfp8() {
  Problem p = plain();
  p.a_dtype = DType::kE4m3;
  p.b_dtype = DType::kE5m2;
  p.scales = ScaleSpec{};
  return p;
}

Problem fp8_by_rows(DType scale, int vec_size) {
  Problem p = mxfp8();
  p.a_major = p.b_major = Major::kK;
  p.scales = ScaleSpec{scale, vec_size, ScaleLayout::kCompact};
  return p;
}

/// All sentences of a problem after `change`, joined.
std::string sentences(Problem p, const Change& change) {
  change(p);
  return test::sentences(validate::broken_rules(p));
}

TEST(ProblemRules, AcceptEveryFormat) {
  const Change nothing = [](Problem&) {};
  EXPECT_EQ(sentences(plain(), nothing), "");
  EXPECT_EQ(sentences(nvfp4(), nothing), "");
  EXPECT_EQ(sentences(mxfp8(), nothing), "");
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.a_dtype = p.b_dtype = DType::kF16; }), "");
  EXPECT_EQ(sentences(nvfp4(), [](Problem& p) { p.scales = ScaleSpec{}; }), "") << "MXFP4";
}

TEST(ProblemRules, NameTheEnumerationWhoseValueHasNoName) {
  const std::vector<std::pair<std::string, Change>> changes = {
      {"a_dtype is 9; it must be an enumerator, from 0 to 6",
       [](Problem& p) { p.a_dtype = DType(9); }},
      {"b_dtype is 7; it must be an enumerator, from 0 to 6",
       [](Problem& p) { p.b_dtype = DType(7); }},
      {"a_major is 9; it must be an enumerator, from 0 to 1",
       [](Problem& p) { p.a_major = Major(9); }},
      {"b_major is 2; it must be an enumerator, from 0 to 1",
       [](Problem& p) { p.b_major = Major(2); }},
      {"input_order is 9; it must be an enumerator, from 0 to 1",
       [](Problem& p) { p.input_order = InputOrder(9); }},
      {"scale_dtype is 99; it must be an enumerator, from 0 to 6",
       [](Problem& p) { p.scales->dtype = DType(99); }},
      {"scale_layout is 2; it must be an enumerator, from 0 to 1",
       [](Problem& p) { p.scales->layout = ScaleLayout(2); }},
      {"wgrad_dtype is 255; it must be an enumerator, from 0 to 6",
       [](Problem& p) { p.wgrad_dtype = DType(255); }},
      {"acc_dtype is 7; it must be an enumerator, from 0 to 6",
       [](Problem& p) { p.acc_dtype = DType(7); }},
      {"output_mode is 2; it must be an enumerator, from 0 to 1",
       [](Problem& p) { p.output_mode = OutputMode(2); }},
  };
  for (const auto& [sentence, change] : changes) EXPECT_EQ(sentences(mxfp8(), change), sentence);
}

TEST(ProblemRules, NameTheExtentThatIsOutOfRange) {
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.experts = 0; }),
            "num_experts is 0; it must be from 1 to 2147483647");
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.m = 0; }),
            "m is 0; it must be from 1 to 2147483647");
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.n = -8; }),
            "n is -8; it must be from 1 to 2147483647");
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.tokens = -1; }),
            "tokens is -1; it must be from 0 to 2147483647");
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.tokens = std::int64_t{1} << 31U; }),
            "tokens is 2147483648; it must be from 0 to 2147483647");
}

TEST(ProblemRules, RefuseOutputRowsOffTheAlignment) {
  EXPECT_EQ(
      sentences(plain(), [](Problem& p) { p.n = 43; }),
      "n is 43 (86 bytes a row of the output); it must be a multiple of 8, unless the output's "
      "rows are padded")
      << "nobody gave the pitch that follows from it";
  EXPECT_EQ(sentences(plain(),
                      [](Problem& p) {
                        p.n = 43;
                        p.output_mode = OutputMode::kDiscrete;
                        p.wgrad_dtype = DType::kF32;
                      }),
            "n is 43 (172 bytes a row of the output); it must be a multiple of 4");
  EXPECT_EQ(sentences(plain(),
                      [](Problem& p) {
                        p.n = 43;
                        p.wgrad_row_pitch = 48;
                      }),
            "");
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.wgrad_row_pitch = 40; }),
            "wgrad row pitch is 40 elements (80 bytes) for N = 48; it must be at least N and a "
            "multiple of 16 bytes");
}

TEST(ProblemRules, RefuseExpertStridesThatOverlapOrAreUnaligned) {
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.wgrad_expert_stride = 64 * 48 - 8; }),
            "wgrad expert stride is 3064 elements (6128 bytes); it must be at least 3072 elements, "
            "so that experts do not overlap, and a multiple of 16 bytes");
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.wgrad_expert_stride = 64 * 48 + 4; }),
            "wgrad expert stride is 3076 elements (6152 bytes); it must be at least 3072 elements, "
            "so that experts do not overlap, and a multiple of 16 bytes");
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.wgrad_expert_stride = 64 * 48 + 8; }), "");
}

TEST(ProblemRules, RefuseStridesThatNoAddressReaches) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t bad : {kHuge, -kHuge - 1, std::int64_t{-8}}) {
    const std::string text = std::to_string(bad);
    EXPECT_EQ(sentences(plain(), [bad](Problem& p) { p.wgrad_row_pitch = bad; }),
              "wgrad row pitch is " + text +
                  " elements; it must be from N to 18014398509481984 elements for M = 64");
    EXPECT_EQ(sentences(plain(), [bad](Problem& p) { p.wgrad_expert_stride = bad; }),
              "wgrad expert stride is " + text +
                  " elements; it must be from 0 to 288230376151711744 elements for E = 4");
  }
  EXPECT_EQ(
      sentences(plain(), [](Problem& p) { p.experts = p.m = p.n = validate::kMaxExtent - 7; }),
      "n is 2147483640; it must be at most 536870914 for M = 2147483640");
}

TEST(ProblemRules, AcceptTheLimitsThemselves) {
  EXPECT_EQ(sentences(plain(),
                      [](Problem& p) {
                        p.experts = p.m = 1;
                        p.n = 8;
                        p.tokens = 0;
                      }),
            "");
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.tokens = validate::kMaxExtent; }), "");
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.m = validate::kMaxExtent; }), "");
  EXPECT_EQ(sentences(plain(),
                      [](Problem& p) {
                        p.experts = 1;
                        p.wgrad_row_pitch = validate::kMaxSpan / p.m;
                      }),
            "");
  EXPECT_EQ(sentences(plain(),
                      [](Problem& p) { p.wgrad_expert_stride = validate::kMaxSpan / p.experts; }),
            "");
  EXPECT_EQ(sentences(plain(),
                      [](Problem& p) {
                        p.experts = 1;
                        p.wgrad_expert_stride = 8;
                      }),
            "")
      << "one expert has nothing to overlap with";
}

TEST(ProblemRules, RefusePaddedDiscreteOutputs) {
  const char* sentence =
      "wgrad strides is padded; it must be (N, 1) for each expert of a discrete "
      "output";
  EXPECT_EQ(sentences(plain(),
                      [](Problem& p) {
                        p.output_mode = OutputMode::kDiscrete;
                        p.wgrad_row_pitch = 56;
                      }),
            sentence);
  EXPECT_EQ(sentences(plain(),
                      [](Problem& p) {
                        p.output_mode = OutputMode::kDiscrete;
                        p.wgrad_expert_stride = 4096;
                      }),
            sentence);
}

TEST(ProblemRules, RefuseOtherOutputAndAccumulatorDtypes) {
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.acc_dtype = DType::kBf16; }),
            "acc_dtype is bfloat16; it must be float32");
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.wgrad_dtype = DType::kE4m3; }),
            "wgrad_dtype is float8_e4m3fn; it must be bfloat16, float16 or float32");
}

TEST(ProblemRules, RefuseTilingsOutsideTheContract) {
  const auto with = [](Tiling tiling) { return [tiling](Problem& p) { p.tiling = tiling; }; };
  EXPECT_EQ(sentences(plain(), with({128, 96, 0, 0})),
            "mma_tiler_mn is (128, 96); it must be M 128 or 256 and N 64, 128, 192 or 256");
  EXPECT_EQ(sentences(mxfp8(), with({128, 192, 0, 0})),
            "mma_tiler_mn is (128, 192); it must be M 128 or 256 and N 128 or 256 in a "
            "block-scaled format");
  EXPECT_EQ(sentences(plain(), with({64, 128, 0, 0})),
            "mma_tiler_mn is (64, 128); it must be M 128 or 256 and N 64, 128, 192 or 256");
  EXPECT_EQ(sentences(plain(), with({128, 192, 4, 4})), "");
  for (const int n : {64, 128, 192, 256}) {
    for (const int m : {128, 256}) EXPECT_EQ(sentences(plain(), with({m, n, 2, 1})), "");
  }
}

TEST(ProblemRules, RefuseClustersOutsideTheContract) {
  const char* need =
      "; it must be powers of two with a product of at most 16, M even when the tile's M is 256";
  const auto refuse = [&](Tiling t) {
    EXPECT_EQ(sentences(plain(), [t](Problem& p) { p.tiling = t; }),
              "cluster_shape_mn is (" + std::to_string(t.cluster_m) + ", " +
                  std::to_string(t.cluster_n) + ") with mma_tiler_mn (" + std::to_string(t.tile_m) +
                  ", " + std::to_string(t.tile_n) + ")" + need);
  };
  refuse({256, 128, 1, 1});
  refuse({128, 128, 3, 1});
  refuse({128, 128, 8, 4});
  refuse({128, 128, 2, 0});
  refuse({128, 128, -2, 1});
  refuse({128, 128, 1 << 30, 1 << 30});
}

TEST(ProblemRules, RefuseDtypesThatFormNoFormat) {
  const char* need =
      "; it must be A and B both bfloat16 or both float16 without scale factors; float8_e4m3fn or "
      "float8_e5m2 with float8_e8m0fnu or float32 scale factors; or float4_e2m1fn_x2 with "
      "float8_e8m0fnu or float8_e4m3fn scale factors";
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.b_dtype = DType::kF16; }),
            std::string("dtypes is A bfloat16, B float16, scale factors none") + need);
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.a_dtype = p.b_dtype = DType::kF32; }),
            std::string("dtypes is A float32, B float32, scale factors none") + need);
  EXPECT_EQ(sentences(plain(), [](Problem& p) { p.scales = ScaleSpec{}; }),
            std::string("dtypes is A bfloat16, B bfloat16, scale factors float8_e8m0fnu") + need)
      << "a 16-bit problem with scale factors never falls through to another format";
  EXPECT_EQ(
      sentences(mxfp8(), [](Problem& p) { p.scales->dtype = DType::kE4m3; }),
      std::string("dtypes is A float8_e4m3fn, B float8_e5m2, scale factors float8_e4m3fn") + need);
  EXPECT_EQ(sentences(mxfp8(), [](Problem& p) { p.b_dtype = DType::kE2m1; }),
            std::string("dtypes is A float8_e4m3fn, B float4_e2m1fn_x2, scale factors "
                        "float8_e8m0fnu") +
                need);
  EXPECT_EQ(sentences(mxfp8(), [](Problem& p) { p.scales.reset(); }),
            std::string("dtypes is A float8_e4m3fn, B float8_e5m2, scale factors none") + need);
}

TEST(ProblemRules, RefuseVectorSizesOfOtherFormats) {
  EXPECT_EQ(sentences(mxfp8(), [](Problem& p) { p.scales->vec_size = 16; }),
            "sf_vec_size is 16; it must be 32 or 128 for float8_e4m3fn elements with "
            "float8_e8m0fnu scale factors");
  EXPECT_EQ(sentences(nvfp4(), [](Problem& p) { p.scales->vec_size = 32; }),
            "sf_vec_size is 32; it must be 16 for float4_e2m1fn_x2 elements with float8_e4m3fn "
            "scale factors");
}

TEST(ProblemRules, Fp4TakesAPowerOfTwoEvery16Or32Tokens) {
  Problem p = nvfp4();
  p.scales = ScaleSpec{DType::kE8m0, 16};
  EXPECT_TRUE(validate::broken_rules(p).empty());
  EXPECT_EQ(sentences(p, [](Problem& q) { q.scales->vec_size = 8; }),
            "sf_vec_size is 8; it must be 16 or 32 for float4_e2m1fn_x2 elements with "
            "float8_e8m0fnu scale factors");
}

TEST(ProblemRules, Fp8ByRowsIsKMajorAndUnswizzled) {
  const Change nothing = [](Problem&) {};
  for (const Problem& p : {fp8_by_rows(DType::kF32, kAllTokens), fp8_by_rows(DType::kF32, 128),
                           fp8_by_rows(DType::kE8m0, 128)}) {
    EXPECT_EQ(sentences(p, nothing), "");
    EXPECT_EQ(sentences(p, [](Problem& q) { q.b_major = Major::kMn; }),
              "b is MN-major; it must be K-major (tokens contiguous) for FP8 rowwise and 1x128");
    EXPECT_EQ(sentences(p, [](Problem& q) { q.scales->layout = ScaleLayout::kSwizzled; }),
              std::string("scale_layout is swizzled; it must be compact for FP8 ") +
                  (scales_whole_rows(p) ? "rowwise" : "1x128"));
  }
  EXPECT_EQ(sentences(fp8_by_rows(DType::kF32, 32), nothing),
            "sf_vec_size is 32; it must be 128, or left out for one a row and expert, for "
            "float8_e4m3fn elements with float32 scale factors");
  EXPECT_EQ(sentences(fp8_by_rows(DType::kE8m0, kAllTokens), nothing),
            "sf_vec_size is 0; it must be 32 or 128 for float8_e4m3fn elements with float8_e8m0fnu "
            "scale factors");
  EXPECT_EQ(sentences(fp8_by_rows(DType::kF32, kAllTokens),
                      [](Problem& q) { q.scales->global_scale = true; }),
            "global_scale is given; it must be absent for FP8 rowwise, whose scale factors are as "
            "wide");
  EXPECT_EQ(
      sentences(fp8_by_rows(DType::kF32, 128), [](Problem& q) { q.scales->global_scale = true; }),
      "");
}

TEST(ProblemRules, OnlyFp8RowwiseMayKeepShortSums) {
  const Change fast = [](Problem& p) { p.fast_accumulation = true; };
  EXPECT_EQ(sentences(fp8_by_rows(DType::kF32, kAllTokens), fast), "");
  for (const Problem& p : {plain(), mxfp8(), fp8_by_rows(DType::kF32, 128)}) {
    EXPECT_EQ(sentences(p, fast),
              "fast_accumulation is True; it must be False: FP8 rowwise alone has sums that may "
              "stay in short accumulators");
  }
}

TEST(ProblemRules, NvFp4NeedsGlobalScales) {
  EXPECT_EQ(
      sentences(nvfp4(), [](Problem& p) { p.scales->global_scale = false; }),
      "global_scale is absent; it must be given for both operands, (E,) float32, in the NVFP4 "
      "format");
}

TEST(ProblemRules, PackedFp4IsKMajor) {
  const char* need = " is MN-major; it must be K-major (tokens contiguous) for packed FP4";
  EXPECT_EQ(sentences(nvfp4(), [](Problem& p) { p.a_major = Major::kMn; }),
            std::string("a") + need);
  EXPECT_EQ(sentences(nvfp4(), [](Problem& p) { p.b_major = Major::kMn; }),
            std::string("b") + need);
}

/// Of every family that can be judged: one field out of range hides no rule that does not need it.
TEST(ProblemRules, ReportWhatOtherFaultsLeaveToJudge) {
  EXPECT_EQ(
      sentences(nvfp4(),
                [](Problem& p) {
                  p.m = 0;
                  p.tokens = -1;
                  p.scales->vec_size = 8;
                  p.a_major = Major::kMn;
                  p.acc_dtype = DType::kF16;
                  p.wgrad_dtype = DType::kE4m3;
                  p.tiling = {64, 128, 3, 1};
                }),
      "m is 0; it must be from 1 to 2147483647\n"
      "tokens is -1; it must be from 0 to 2147483647\n"
      "sf_vec_size is 8; it must be 16 for float4_e2m1fn_x2 elements with float8_e4m3fn scale "
      "factors\n"
      "a is MN-major; it must be K-major (tokens contiguous) for packed FP4\n"
      "acc_dtype is float16; it must be float32\n"
      "wgrad_dtype is float8_e4m3fn; it must be bfloat16, float16 or float32\n"
      "mma_tiler_mn is (64, 128); it must be M 128 or 256 and N 128 or 256 in a block-scaled "
      "format\n"
      "cluster_shape_mn is (3, 1) with mma_tiler_mn (64, 128); it must be powers of two with a "
      "product of at most 16, M even when the tile's M is 256");
  EXPECT_EQ(
      sentences(plain(),
                [](Problem& p) {
                  p.a_dtype = DType(9);
                  p.tokens = -1;
                  p.n = 43;
                  p.wgrad_expert_stride = 12;
                }),
      "tokens is -1; it must be from 0 to 2147483647\n"
      "a_dtype is 9; it must be an enumerator, from 0 to 6\n"
      "n is 43 (86 bytes a row of the output); it must be a multiple of 8, unless the output's "
      "rows are padded\n"
      "wgrad expert stride is 12 elements (24 bytes); it must be a multiple of 16 bytes");
  EXPECT_EQ(sentences(plain(),
                      [](Problem& p) {
                        p.wgrad_dtype = DType(9);
                        p.b_dtype = DType::kF16;
                      })
                .substr(0, 127),
            "wgrad_dtype is 9; it must be an enumerator, from 0 to 6\n"
            "dtypes is A bfloat16, B float16, scale factors none; it must be A and B")
      << "no stride of a dtype without a size";
}

TEST(ProblemRules, ReportEveryBrokenRuleAtOnce) {
  EXPECT_EQ(
      sentences(plain(),
                [](Problem& p) {
                  p.n = 43;
                  p.acc_dtype = DType::kF16;
                  p.tiling.tile_m = 32;
                }),
      "acc_dtype is float16; it must be float32\n"
      "n is 43 (86 bytes a row of the output); it must be a multiple of 8, unless the output's "
      "rows are padded\n"
      "mma_tiler_mn is (32, 256); it must be M 128 or 256 and N 64, 128, 192 or 256");
}

}  // namespace
}  // namespace wgrad
