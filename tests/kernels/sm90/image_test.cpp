// What one launch of the SM90 kernel is: every number that comes from the problem or the operands.
#include "kernels/sm90/image.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "kernels/family.hpp"
#include "kernels/sm90/planned.hpp"
#include "plan/hopper.hpp"
#include "wgrad/shared/params.hpp"

namespace wgrad::kernels::sm90 {
namespace {

using shared::KernelParams;

/// No two of its numbers are equal.
Problem problem_of(Major a, Major b) {
  Problem p;
  p.experts = 3;
  p.m = 384;
  p.n = 640;
  p.tokens = 512;
  p.a_major = a;
  p.b_major = b;
  p.wgrad_row_pitch = 648;
  p.wgrad_expert_stride = 648 * 400;
  p.tiling.cluster_m = p.tiling.cluster_n = 1;
  return p;
}

Operands operands_of() {
  Operands o;
  o.tokens = 500;
  o.a = reinterpret_cast<const void*>(0x10000);
  o.b = reinterpret_cast<const void*>(0x20000);
  o.a_ld = 1024;
  o.b_ld = 1152;
  o.offsets = reinterpret_cast<const std::int32_t*>(0x30000);
  o.wgrad = reinterpret_cast<void*>(0x40000);
  return o;
}

LaunchImage image_of(const Problem& p, const Operands& o) {
  return image(p, plans("cuda", p, hopper()).at(0), o);
}

KernelParams parameters(const LaunchImage& image) {
  KernelParams params = {};
  EXPECT_EQ(image.parameter_bytes, sizeof params);
  std::memcpy(&params, image.parameters.data(), sizeof params);
  return params;
}

TEST(Sm90Image, HoldsTheProblemAndTheOperands) {
  const Problem p = problem_of(Major::kMn, Major::kMn);
  const KernelParams k = parameters(image_of(p, operands_of()));
  EXPECT_EQ(k.a, 0x10000U);
  EXPECT_EQ(k.b, 0x20000U);
  EXPECT_EQ(k.offsets, 0x30000U);
  EXPECT_EQ(k.wgrad, 0x40000U);
  EXPECT_EQ(k.out_map_base, 0x40000U);
  EXPECT_EQ(k.wgrad_ptrs, 0U);
  EXPECT_EQ(k.expert_stride_bytes, 648 * 400 * 2);
  EXPECT_EQ(k.row_pitch_bytes, 648 * 2);
  EXPECT_EQ(k.tokens, 500);
  EXPECT_EQ(k.m, 384);
  EXPECT_EQ(k.n, 640);
  EXPECT_EQ(k.experts, 3);
}

TEST(Sm90Image, IsThePlans) {
  const Problem p = problem_of(Major::kMn, Major::kMn);
  const plan::Plan plan = plans("cuda", p, hopper()).at(0);
  const auto& config = plan.config.as<LaunchConfig>();
  const LaunchImage launch = image(p, plan, operands_of());
  EXPECT_EQ(launch.grid, static_cast<unsigned>(config.grid));
  EXPECT_EQ(launch.cluster, static_cast<unsigned>(shared::cluster_ctas(config.kernel)));
  EXPECT_EQ(launch.block, static_cast<unsigned>(shared::threads_per_cta(config.kernel)));
  EXPECT_EQ(launch.shared_bytes, static_cast<unsigned>(config.smem_bytes));
  EXPECT_EQ(launch.overlaps, config.overlaps);
  EXPECT_EQ(parameters(launch).raster_m, config.raster_m);
}

/// Byte strides between rows of A, B and the output.
TEST(Sm90Image, EveryMapHasItsOwnPitchExtentAndBase) {
  for (const Major major : {Major::kMn, Major::kK}) {
    const LaunchImage launch = image_of(problem_of(major, major), operands_of());
    ASSERT_EQ(launch.map_count, 3U);
    const auto& [a, b, out, d, e, f] = launch.maps;
    EXPECT_EQ(a.recipe.strides[0], 2048U);
    EXPECT_EQ(b.recipe.strides[0], 2304U);
    EXPECT_EQ(out.recipe.strides[0], 1296U);
    EXPECT_EQ(a.base, 0x10000U);
    EXPECT_EQ(b.base, 0x20000U);
    EXPECT_EQ(out.base, 0x40000U);
    EXPECT_EQ(a.at, offsetof(KernelParams, map_a));
    EXPECT_EQ(b.at, offsetof(KernelParams, map_b));
    EXPECT_EQ(out.at, offsetof(KernelParams, map_out));
    EXPECT_EQ(out.recipe.dims[0], 640U);
    EXPECT_EQ(out.recipe.dims[1], 384U);
    if (major == Major::kK) {
      EXPECT_EQ(a.recipe.dims[0], 500U) << "the tokens of this call, not of the plan";
      EXPECT_EQ(a.recipe.dims[1], 384U);
      EXPECT_EQ(b.recipe.dims[0], 500U);
      EXPECT_EQ(b.recipe.dims[1], 640U);
    } else {
      EXPECT_EQ(a.recipe.dims[2], 384U / 64);
      EXPECT_EQ(b.recipe.dims[2], 640U / 64);
    }
  }
}

TEST(Sm90Image, TheOutputMapHasTheOutputsType) {
  Problem p = problem_of(Major::kMn, Major::kMn);
  const auto element = [&](DType dtype) {
    p.wgrad_dtype = dtype;
    return image_of(p, operands_of()).maps[2].recipe.element;
  };
  EXPECT_EQ(element(DType::kBf16), shared::MapElement::kBf16);
  EXPECT_EQ(element(DType::kF16), shared::MapElement::kFp16);
  EXPECT_EQ(element(DType::kF32), shared::MapElement::kFp32);
}

/// One field of the operands alone changes the maps that depend on it, and no other.
TEST(Sm90Image, MapsDependOnTheirOperandAlone) {
  const Problem p = problem_of(Major::kK, Major::kMn);
  struct Change {
    const char* what;
    std::function<void(Operands&)> make;
    bool a, b, out;
  };
  const std::vector<Change> changes = {
      {"tokens", [](Operands& o) { o.tokens -= 8; }, true, false, false},
      {"a", [](Operands& o) { o.a = reinterpret_cast<void*>(0x50000); }, true, false, false},
      {"b", [](Operands& o) { o.b = reinterpret_cast<void*>(0x50000); }, false, true, false},
      {"a_ld", [](Operands& o) { o.a_ld += 8; }, true, false, false},
      {"b_ld", [](Operands& o) { o.b_ld += 8; }, false, true, false},
      {"wgrad", [](Operands& o) { o.wgrad = reinterpret_cast<void*>(0x50000); }, false, false,
       true}};
  const LaunchImage before = image_of(p, operands_of());
  for (const Change& change : changes) {
    Operands o = operands_of();
    change.make(o);
    const LaunchImage after = image_of(p, o);
    const auto differs = [&](std::size_t i) {
      return before.maps[i].recipe != after.maps[i].recipe ||
             before.maps[i].base != after.maps[i].base;
    };
    EXPECT_EQ(differs(0), change.a) << change.what;
    EXPECT_EQ(differs(1), change.b) << change.what;
    EXPECT_EQ(differs(2), change.out) << change.what;
  }
}

TEST(Sm90Image, ATracedPlanWritesIntoItsRegion) {
  const Problem p = problem_of(Major::kMn, Major::kMn);
  plan::Plan plan = plans("cuda", p, hopper()).at(0);
  plan = plan.family->traced(p, plan, hopper());
  plan.workspace.insert(plan.workspace.begin(), {"scratch", 1000});
  Operands o = operands_of();
  o.workspace = reinterpret_cast<void*>(0x60000);
  EXPECT_EQ(parameters(image(p, plan, o)).trace, 0x60000U + 1024U);
}

}  // namespace
}  // namespace wgrad::kernels::sm90
