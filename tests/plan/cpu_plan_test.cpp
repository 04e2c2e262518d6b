#include "plan/cpu_plan.hpp"

#include <gtest/gtest.h>

namespace wgrad::plan {
namespace {

Problem problem(std::int64_t m, std::int64_t n) {
  Problem p;
  p.experts = 8;
  p.m = m;
  p.n = n;
  p.tokens = 4096;
  return p;
}

DeviceSpec cpu(int threads, bool native) {
  DeviceSpec d;
  d.threads = threads;
  d.amx_bf16 = native;
  d.l2_bytes = native ? 2 << 20 : 512 << 10;
  return d;
}

TEST(CpuPlan, TilesDependOnNeitherThreadsNorTokensNorExperts) {
  const Problem p = problem(4096, 1536);
  CpuConfig one = plan_cpu(p, cpu(1, false));
  Problem other = p;
  other.experts = 300;
  other.tokens = 7;
  const CpuConfig many = plan_cpu(other, cpu(64, false));
  EXPECT_EQ(many.threads, 64);
  one.threads = many.threads;
  EXPECT_EQ(one, many);
}

TEST(CpuPlan, TilesCoverTheOutputEvenly) {
  for (const bool native : {false, true}) {
    for (const std::int64_t extent : {1, 8, 43, 255, 257, 513, 1638, 2880, 7168}) {
      const CpuConfig c = plan_cpu(problem(extent, extent), cpu(2, native));
      EXPECT_GT(c.tile_m, 0);
      EXPECT_LE(c.tile_m, 1024);
      EXPECT_EQ(c.tile_m % 16, 0);
      const std::int64_t rest = extent % c.tile_m;
      EXPECT_TRUE(extent < c.tile_m || rest == 0 || rest > c.tile_m / 2) << extent;
    }
  }
}

TEST(CpuPlan, DeepCallsHaveFewerRows) {
  const CpuConfig native = plan_cpu(problem(512, 512), cpu(2, true));
  EXPECT_EQ(native.tile_m, 512);
  EXPECT_EQ(native.tile_n, 256);
  EXPECT_EQ(call_rows(native, 100), 256);
  EXPECT_EQ(call_rows(native, native.tile_k), 64);
  const CpuConfig widened = plan_cpu(problem(352, 352), cpu(2, false));
  EXPECT_EQ(call_rows(widened, 100), 176);
  EXPECT_EQ(call_rows(widened, widened.tile_k), 96);
  EXPECT_EQ(call_rows(plan_cpu(problem(16, 512), cpu(2, true)), 100000), 16);
}

TEST(CpuPlan, ScratchIsBoundedWhateverTheShape) {
  for (const bool native : {false, true}) {
    for (const Major major : {Major::kK, Major::kMn}) {
      Problem p = problem(1 << 20, 1 << 20);
      p.tokens = 1LL << 30;
      p.a_major = p.b_major = major;
      const CpuConfig c = plan_cpu(p, cpu(2, native));
      EXPECT_LE(scratch(c, p).total_bytes(), 3 << 20);
    }
  }
}

TEST(CpuPlan, Fp16IsAlwaysWidened) {
  Problem p = problem(64, 64);
  p.a_dtype = p.b_dtype = DType::kF16;
  EXPECT_FALSE(plan_cpu(p, cpu(2, true)).native_bf16);
  EXPECT_TRUE(plan_cpu(problem(64, 64), cpu(2, true)).native_bf16);
}

TEST(CpuPlan, SummaryStatesTheScratch) {
  const Problem p = problem(4096, 4096);
  const CpuConfig c = plan_cpu(p, cpu(2, false));
  const std::string kib = std::to_string((scratch(c, p).total_bytes() + 1023) / 1024);
  EXPECT_NE(summary(c, p).find(kib + " KiB scratch a thread"), std::string::npos) << summary(c, p);
}

}  // namespace
}  // namespace wgrad::plan
