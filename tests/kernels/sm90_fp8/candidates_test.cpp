// What the search makes of FP8 rowwise problems on SM 9.0.
#include <gtest/gtest.h>

#include <cstring>

#include "harness/cases/case.hpp"
#include "kernels/family.hpp"
#include "kernels/search.hpp"
#include "kernels/sm90_fp8/config.hpp"
#include "kernels/sm90_fp8/image.hpp"
#include "plan/hopper.hpp"
#include "validate/problem_rules.hpp"
#include "wgrad/sm90_fp8/params.hpp"

namespace wgrad::kernels::sm90_fp8 {
namespace {

Problem rowwise() {
  Problem p;
  p.experts = 8;
  p.m = 4096;
  p.n = 14336;
  p.tokens = 32768;
  p.a_dtype = p.b_dtype = DType::kE4m3;
  p.a_major = p.b_major = Major::kK;
  p.scales = ScaleSpec{DType::kF32, kAllTokens, ScaleLayout::kCompact};
  return p;
}

std::string refusal(const Problem& p, const DeviceSpec& device = hopper()) {
  const auto reasons = kernels::limits(p, device);
  return reasons.empty() ? "" : to_string(reasons.front());
}

TEST(Fp8Plan, EveryRowwiseProblemHasAKernelThatFits) {
  for (const harness::NamedFormat& format : harness::formats()) {
    if (format.format != Format::kFp8Rowwise) continue;
    for (const harness::Case& variant : harness::input_variants(format, 256, 520, {64, 128})) {
      for (const DType output : {DType::kBf16, DType::kF16, DType::kF32}) {
        for (const bool fast : {false, true}) {
          Problem p = harness::problem(variant);
          p.wgrad_dtype = output;
          p.accumulate = fast;
          p.fast_accumulation = fast;
          ASSERT_EQ(refusal(p), "") << format.name;
          for (const plan::Plan& plan : plans("cuda", p, hopper())) {
            EXPECT_EQ(plan.family->name, "sm90_fp8");
            const auto& config = plan.config.as<LaunchConfig>();
            EXPECT_TRUE(shared::is_valid(config.kernel)) << plan.summary;
            EXPECT_LE(config.smem_bytes, hopper().smem_bytes) << plan.summary;
            EXPECT_EQ(config.kernel.promote, !fast) << plan.summary;
            EXPECT_EQ(config.kernel.tile_k, 128) << plan.summary;
          }
        }
      }
    }
  }
}

TEST(Fp8Plan, RefusesByName) {
  Problem p = rowwise();
  p.scales->vec_size = 128;
  EXPECT_NE(refusal(p).find("SM 9.0 has no kernel for FP8 1x128 yet"), std::string::npos)
      << refusal(p);
  p = rowwise();
  p.tiling = {.tile_m = 128, .tile_n = 128, .cluster_m = 4, .cluster_n = 1};
  EXPECT_NE(refusal(p).find("cluster_shape_mn is (4, 1) with mma_tiler_mn (128, 128); it must be "
                            "(1, 1) or (2, 1)"),
            std::string::npos)
      << refusal(p);
  DeviceSpec small = hopper();
  small.smem_bytes = 50000;
  EXPECT_NE(refusal(rowwise(), small).find("shared memory of a CTA is 50000 bytes"),
            std::string::npos)
      << refusal(rowwise(), small);
}

TEST(Fp8Plan, IsTakenOnSiliconOnlyWhereItIsAskedFor) {
  DeviceSpec device = hopper();
  const auto reasons = kernels::limits_on_silicon(rowwise(), device);
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_NE(to_string(reasons[0])
                .find("the kernels of sm90_fp8 for such operands have not passed all their tests "
                      "on such a GPU"),
            std::string::npos)
      << to_string(reasons[0]);
  device.allow_unverified = true;
  EXPECT_TRUE(kernels::limits_on_silicon(rowwise(), device).empty());
}

TEST(Fp8Plan, HonoursAGivenTileAndPair) {
  Problem p = rowwise();
  for (const int tile_n : {128, 256}) {
    for (const int tile_m : {128, 256}) {
      if (tile_m == 256 && tile_n == 256) continue;  // wgrad chooses
      p.tiling = {.tile_m = tile_m, .tile_n = tile_n};
      const auto all = plans("cuda", p, hopper());
      ASSERT_EQ(all.size(), 1U);
      EXPECT_EQ(all[0].config.as<LaunchConfig>().kernel.tile_n, tile_n);
      EXPECT_EQ(all[0].config.as<LaunchConfig>().kernel.cluster_m, tile_m / 128);
    }
  }
}

TEST(Fp8Plan, BoxesStartAt128BytesWhereRowsDo) {
  const Problem p = rowwise();
  const plan::Plan plan = plans("cuda", p, hopper()).front();
  const auto parameters = [&](std::int64_t ld) {
    Operands o;
    o.tokens = 96;
    o.a_ld = o.b_ld = ld;
    alignas(64) shared::Fp8Params params = {};
    const LaunchImage launch = image(p, plan, o);
    std::memcpy(static_cast<void*>(&params), launch.parameters.data(), sizeof params);
    return params;
  };
  EXPECT_EQ(parameters(256).token_alignment, 128);
  EXPECT_EQ(parameters(112).token_alignment, 16);
}

}  // namespace
}  // namespace wgrad::kernels::sm90_fp8
