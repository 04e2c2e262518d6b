// What the search makes of block-scaled problems on SM 9.0.
#include <gtest/gtest.h>

#include <cstring>

#include "harness/cases/case.hpp"
#include "kernels/family.hpp"
#include "kernels/search.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "kernels/sm90_scaled/image.hpp"
#include "plan/hopper.hpp"
#include "validate/problem_rules.hpp"
#include "wgrad/shared/scaled_params.hpp"
#include "wgrad/sm90_scaled/smem.hpp"

namespace wgrad::kernels::sm90_scaled {
namespace {

using wgrad::hopper;

Problem mxfp8(Major a, Major b) {
  Problem p;
  p.experts = 8;
  p.m = 4096;
  p.n = 14336;
  p.tokens = 32768;
  p.a_dtype = p.b_dtype = DType::kE4m3;
  p.a_major = a;
  p.b_major = b;
  p.scales = ScaleSpec{};
  return p;
}

std::string refusal(const Problem& p) {
  const auto reasons = kernels::limits(p, hopper());
  return reasons.empty() ? "" : to_string(reasons.front());
}

TEST(ScaledPlan, EveryFormatMajorLayoutAndOutputHasAKernelThatFits) {
  for (const harness::NamedFormat& format : harness::formats()) {
    if (!has_swizzled_scales(format)) continue;  // other families'
    for (const harness::Case& variant : harness::input_variants(format, 256, 512, {64, 128})) {
      for (const DType output : {DType::kBf16, DType::kF16, DType::kF32}) {
        for (const ScaleLayout layout : {ScaleLayout::kSwizzled, ScaleLayout::kCompact}) {
          Problem p = harness::problem(variant);
          p.wgrad_dtype = output;
          p.accumulate = layout == ScaleLayout::kCompact;
          p.scales->layout = layout;
          ASSERT_EQ(refusal(p), "") << format.name;
          for (const plan::Plan& plan : plans("cuda", p, hopper())) {
            EXPECT_EQ(plan.family->name, "sm90_scaled");
            const auto& config = plan.config.as<LaunchConfig>();
            EXPECT_TRUE(shared::is_valid(config.kernel)) << plan.summary;
            EXPECT_LE(config.smem_bytes, hopper().smem_bytes) << plan.summary;
            EXPECT_GE(config.kernel.raw_stages, 2) << plan.summary;
          }
        }
      }
    }
  }
}

TEST(ScaledPlan, SixteenBitProblemsGoElsewhere) {
  Problem p = mxfp8(Major::kMn, Major::kMn);
  p.scales.reset();
  p.a_dtype = p.b_dtype = DType::kBf16;
  for (const plan::Plan& plan : plans("cuda", p, hopper())) EXPECT_EQ(plan.family->name, "sm90");
}

TEST(ScaledPlan, RefusesByName) {
  Problem p = mxfp8(Major::kMn, Major::kK);
  p.m = 4104;
  EXPECT_NE(refusal(p).find("m is 4104; it must be a multiple of 16 for an MN-major FP8 operand"),
            std::string::npos)
      << refusal(p);
  p = mxfp8(Major::kK, Major::kK);
  p.tiling = {.tile_m = 128, .tile_n = 128, .cluster_m = 2, .cluster_n = 1};
  EXPECT_NE(refusal(p).find("cluster_shape_mn is (2, 1) with mma_tiler_mn (128, 128); it must be "
                            "(1, 1)"),
            std::string::npos)
      << refusal(p);
}

TEST(ScaledPlan, HonoursAGivenTile) {
  Problem p = mxfp8(Major::kMn, Major::kMn);
  for (const int tile_n : {128, 256}) {
    p.tiling = {.tile_m = 128, .tile_n = tile_n};
    const auto all = plans("cuda", p, hopper());
    ASSERT_FALSE(all.empty());
    for (const plan::Plan& plan : all)
      EXPECT_EQ(plan.config.as<LaunchConfig>().kernel.tile_n, tile_n);
  }
}

TEST(ScaledPlan, RowsThatNoMapDescribesAreCopiedOneByOne) {
  Problem p = mxfp8(Major::kK, Major::kK);
  const plan::Plan plan = plans("cuda", p, hopper()).front();
  const auto parameters = [&](std::int64_t ld) {
    Operands o;
    o.tokens = 96;
    o.a_ld = ld;
    o.b_ld = 96;
    alignas(64) shared::ScaledParams params = {};
    const LaunchImage launch = image(p, plan, o);
    std::memcpy(static_cast<void*>(&params), launch.parameters.data(), sizeof params);
    return params;
  };
  EXPECT_EQ(parameters(112).rows_a, 0U);
  EXPECT_EQ(parameters(100).rows_a, 1U);
  EXPECT_EQ(parameters(100).rows_b, 0U);
  EXPECT_EQ(parameters(100).ld_a, 100);
}

}  // namespace
}  // namespace wgrad::kernels::sm90_scaled
