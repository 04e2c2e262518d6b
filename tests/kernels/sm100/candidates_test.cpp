// What the search makes of problems on SM 10.0 and 10.3, from descriptions of such GPUs alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "kernels/family.hpp"
#include "kernels/search.hpp"
#include "kernels/sm100/config.hpp"
#include "kernels/sm100/source.hpp"
#include "kernels/sm90/config.hpp"
#include "wgrad/precompile.hpp"
#include "wgrad/sm100/smem.hpp"

namespace wgrad::kernels::sm100 {
namespace {

Problem mixtral() {
  Problem p;
  p.experts = 8;
  p.m = 4096;
  p.n = 14336;
  p.tokens = 32768;
  return p;
}

std::string refusal(const Problem& p, const DeviceSpec& device) {
  const auto reasons = kernels::limits(p, device);
  return reasons.empty() ? "" : to_string(reasons.front());
}

TEST(Sm100Plan, TakesTheWidestTileForALargeProblem) {
  for (const int arch : {100, 103}) {
    const auto found = plans("cuda", mixtral(), typical_cuda_device(arch));
    ASSERT_EQ(found.size(), 6U);
    const auto& config = found.front().config.as<LaunchConfig>();
    EXPECT_EQ(found.front().family->name, "sm100");
    EXPECT_EQ(config.kernel.tile_n, 256);
    EXPECT_EQ(config.kernel.cluster_m, 2);
    EXPECT_EQ(config.arch, arch);
    EXPECT_EQ(config.grid, 148);
    EXPECT_NE(found.front().summary.find("not run on silicon"), std::string::npos);
    EXPECT_EQ(found.front().family->source(found.front()).arch, arch);
  }
}

// 2 * 4096 * 14336 * 32768 FLOP at 148 * 8192 a clock of 1.85 GHz take 1.72 ms.
TEST(Sm100Plan, PredictsNoMoreThanTheTensorCoresCanDo) {
  const auto found = plans("cuda", mixtral(), typical_cuda_device(100));
  EXPECT_GT(found.front().predicted_ms, 1.72);
  EXPECT_LT(found.front().predicted_ms, 2 * 1.72);
  for (const plan::Plan& plan : found)
    EXPECT_GE(plan.predicted_ms, found.front().predicted_ms) << plan.summary;
}

TEST(Sm100Plan, TilingChoosesTheTile) {
  Problem p = mixtral();
  for (const int tile_n : {64, 128, 192, 256}) {
    p.tiling = {.tile_m = 128, .tile_n = tile_n, .cluster_m = 1, .cluster_n = 1};
    const auto found = plans("cuda", p, typical_cuda_device(100));
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found.front().config.as<LaunchConfig>().kernel.tile_n, tile_n);
  }
}

TEST(Sm100Plan, RefusesInWordsWhatThereIsNoKernelFor) {
  Problem p = mixtral();
  const DeviceSpec b200 = typical_cuda_device(100);
  p.tiling = {.tile_m = 256, .tile_n = 128, .cluster_m = 2, .cluster_n = 1};
  EXPECT_EQ(refusal(p, b200), "");
  p.a_major = p.b_major = Major::kK;
  p.tiling.tile_n = 192;
  EXPECT_EQ(refusal(p, b200), "");
  p.b_major = Major::kMn;
  EXPECT_EQ(refusal(p, b200),
            "cluster_shape_mn is (2, 1) with mma_tiler_mn (256, 192); it must be (1, 1) with M "
            "128, (2, 1) with M 256 (an MN-major B: and N 128 or 256), or left to wgrad, on SM "
            "10.0");
  p = mixtral();
  p.m = sm90::kMaxExtent + 1;
  EXPECT_NE(refusal(p, b200).find("on SM 10.0"), std::string::npos);
  DeviceSpec small = b200;
  small.smem_bytes = 49152;
  EXPECT_NE(refusal(mixtral(), small).find("bytes for the SM 10.0 kernel"), std::string::npos);
}

// Nothing runs twice under one name: the text and the options say all that a kernel depends on.
TEST(Sm100Source, NamesTheArchitectureAndEveryField) {
  const KernelSource one = source(Config{}, 100), other = source(Config{}, 103);
  EXPECT_EQ(one.options.front(), "--gpu-architecture=sm_100a");
  EXPECT_EQ(other.options.front(), "--gpu-architecture=sm_103a");
  EXPECT_EQ(one.text, other.text);
  EXPECT_NE(one.digest(), other.digest());
  Config::visit_fields([&](auto field) {
    EXPECT_NE(one.text.find(fmt::format(".{} = ", field.name)), std::string::npos) << field.name;
  });
}

// Barriers, queue and lookups beside stages and ring; stages that the ring leaves room for.
TEST(Sm100Smem, UsesWhatAMultiprocessorHas) {
  for (const int tile_n : {64, 128, 192, 256}) {
    Problem p = mixtral();
    p.tiling = {.tile_m = 128, .tile_n = tile_n};
    const Config c = allowed_configs(p).front();
    EXPECT_LE(smem_bytes(c), 232448);
    EXPECT_GE(c.stages, 4) << tile_n;
    EXPECT_GT(smem_bytes(c) + 16384 + 1024 * 48, 232448) << "room for a stage or for the ring";
  }
}

}  // namespace
}  // namespace wgrad::kernels::sm100
