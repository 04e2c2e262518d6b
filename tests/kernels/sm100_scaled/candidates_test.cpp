// What the search makes of block-scaled problems on SM 10.0 and 10.3, from descriptions of such
// GPUs alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/cases/case.hpp"
#include "kernels/family.hpp"
#include "kernels/search.hpp"
#include "kernels/sm100_scaled/config.hpp"
#include "kernels/sm100_scaled/source.hpp"
#include "wgrad/precompile.hpp"
#include "wgrad/sm100_scaled/smem.hpp"

namespace wgrad::kernels::sm100_scaled {
namespace {

Problem mxfp8() {
  Problem p;
  p.experts = 8;
  p.m = 4096;
  p.n = 14336;
  p.tokens = 32768;
  p.a_dtype = p.b_dtype = DType::kE4m3;
  p.scales = ScaleSpec{};
  return p;
}
Problem nvfp4() {
  Problem p = mxfp8();
  p.a_dtype = p.b_dtype = DType::kE2m1;
  p.a_major = p.b_major = Major::kK;
  p.scales = ScaleSpec{DType::kE4m3, 16, ScaleLayout::kSwizzled, true};
  return p;
}

std::string refusal(const Problem& p, const DeviceSpec& device = typical_cuda_device(100)) {
  const auto reasons = kernels::limits(p, device);
  return reasons.empty() ? "" : to_string(reasons.front());
}

TEST(Sm100ScaledPlan, EveryFormatMajorLayoutAndOutputHasAKernel) {
  for (const harness::NamedFormat& format : harness::formats()) {
    if (!has_swizzled_scales(format)) continue;  // other families'
    for (const harness::Case& variant : harness::input_variants(format, 256, 512, {64, 128})) {
      for (const DType output : {DType::kBf16, DType::kF16, DType::kF32}) {
        Problem p = harness::problem(variant);
        p.wgrad_dtype = output;
        p.scales->layout = output == DType::kF16 ? ScaleLayout::kCompact : ScaleLayout::kSwizzled;
        for (const int arch : {100, 103}) {
          ASSERT_EQ(refusal(p, typical_cuda_device(arch)), "") << format.name;
          const auto found = plans("cuda", p, typical_cuda_device(arch));
          ASSERT_EQ(found.size(), 2U) << format.name;
          for (const plan::Plan& plan : found) {
            const auto& config = plan.config.as<LaunchConfig>();
            EXPECT_EQ(plan.family->name, "sm100_scaled");
            EXPECT_TRUE(is_valid(config.kernel)) << plan.summary;
            EXPECT_EQ(plan.family->source(plan).arch, arch);
            EXPECT_NE(plan.summary.find("not run on silicon"), std::string::npos);
          }
        }
      }
    }
  }
}

// 2 * 4096 * 14336 * 32768 FLOP at 148 * 16384 a clock of 1.85 GHz take 0.86 ms, FP4 half of that.
TEST(Sm100ScaledPlan, PredictsNoMoreThanTheTensorCoresCanDo) {
  const double bytes = plans("cuda", mxfp8(), typical_cuda_device(100)).front().predicted_ms;
  const double nibbles = plans("cuda", nvfp4(), typical_cuda_device(100)).front().predicted_ms;
  EXPECT_GT(bytes, 0.86);
  EXPECT_LT(bytes, 3 * 0.86);
  EXPECT_GT(nibbles, 0.43);
  EXPECT_LT(nibbles, bytes);
}

TEST(Sm100ScaledPlan, TilingChoosesTheTile) {
  for (const int tile_n : {128, 256}) {
    Problem p = mxfp8();
    p.tiling = {.tile_m = 128, .tile_n = tile_n, .cluster_m = 1, .cluster_n = 1};
    const auto found = plans("cuda", p, typical_cuda_device(100));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().config.as<LaunchConfig>().kernel.tile_n, tile_n);
  }
}

TEST(Sm100ScaledPlan, RefusesInWordsWhatThereIsNoKernelFor) {
  Problem p = mxfp8();
  p.tiling = {.tile_m = 256, .tile_n = 128, .cluster_m = 2, .cluster_n = 1};
  EXPECT_EQ(refusal(p),
            "cluster_shape_mn is (2, 1) with mma_tiler_mn (256, 128); it must be (1, 1) with M 128 "
            "and N 128 or 256, or left to wgrad, for a block-scaled format on SM 10.0");
  p = mxfp8();
  p.m = 4104;
  EXPECT_EQ(refusal(p),
            "m is 4104; it must be a multiple of 16 for an MN-major FP8 operand on SM 10.0");
  DeviceSpec small = typical_cuda_device(100);
  small.smem_bytes = 49152;
  EXPECT_NE(refusal(mxfp8(), small).find("bytes for the SM 10.0 kernel"), std::string::npos);
}

TEST(Sm100ScaledSource, NamesTheArchitectureAndEveryField) {
  const KernelSource one = source(Config{}, 100), other = source(Config{}, 103);
  EXPECT_EQ(one.options.front(), "--gpu-architecture=sm_100a");
  EXPECT_EQ(other.options.front(), "--gpu-architecture=sm_103a");
  EXPECT_NE(one.digest(), other.digest());
  Config::visit_fields([&](auto field) {
    EXPECT_NE(one.text.find(fmt::format(".{} = ", field.name)), std::string::npos) << field.name;
  });
}

// Two accumulators of 256 columns would leave no room for scale factors.
TEST(Sm100ScaledTensorMemory, HoldsAccumulatorsAndScaleFactorsOfEveryStage) {
  for (const Problem& problem : {mxfp8(), nvfp4()}) {
    for (const Config& c : allowed_configs(problem)) {
      const auto columns = static_cast<std::uint32_t>(4 * c.stages * stage_atoms(c));
      EXPECT_EQ(accumulators(c) * c.tile_n, 256);
      EXPECT_EQ(scale_columns_b(c), 256U);
      EXPECT_EQ(scale_columns_a(c), 256 + columns * static_cast<std::uint32_t>(b_blocks(c)));
      EXPECT_EQ(used_tensor_columns(c), scale_columns_a(c) + columns);
      EXPECT_LE(used_tensor_columns(c), 512U);
      EXPECT_GE(c.stages, 3);
    }
  }
}

}  // namespace
}  // namespace wgrad::kernels::sm100_scaled
