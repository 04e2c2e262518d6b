// What the spine answers for CUDA devices, on a machine that may have none.
#include <gtest/gtest.h>

#include <string>

#include "plan/hopper.hpp"
#include "support/refusal.hpp"
#include "support/sentences.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/executable.hpp"
#include "wgrad/explain.hpp"
#include "wgrad/precompile.hpp"
#include "wgrad/support.hpp"
#include "wgrad/toolchain.hpp"

namespace wgrad {
namespace {

Problem plain() {
  Problem p;
  p.experts = 4;
  p.m = 512;
  p.n = 1024;
  p.tokens = 4096;
  return p;
}

TEST(CudaSupport, SaysYesForHopperWithoutOne) {
  EXPECT_TRUE(check_support(plain(), hopper()));
  EXPECT_TRUE(check_support(plain(), hopper(), "cuda"));
}

// F105: what runs on which architecture.
TEST(CudaSupport, F105NamesTheArchitectureAndNothingElse) {
  const std::string served = "9.0 (Hopper), 10.0 (Blackwell), 10.3 (Blackwell Ultra)";
  const std::pair<int, std::string> refused[] = {
      {80, "compute capability is 8.0; it must be " + served + ": SM 8.0 has no kernel yet"},
      {120, "compute capability is 12.0; it must be " + served +
                ": SM 12.0 has neither wgmma nor tensor memory (tcgen05), which the kernels "
                "multiply with"},
      {121, "compute capability is 12.1; it must be " + served +
                ": SM 12.1 has neither wgmma nor tensor memory (tcgen05), which the kernels "
                "multiply with"}};
  DeviceSpec device = hopper();
  for (const auto& [arch, sentence] : refused) {
    device.arch = arch;
    device.allow_unverified = true;
    EXPECT_EQ(test::sentences(check_support(plain(), device).reasons), sentence);
    EXPECT_THROW(prepare(plain(), device), RuntimeError);
  }
}

// What has never run on a GPU of its kind runs there only for who asks for it.
TEST(CudaSupport, WhatNeverRanOnSiliconIsAskedFor) {
  DeviceSpec device = hopper();
  for (const auto& [arch, name] : {std::pair{100, "10.0"}, {103, "10.3"}}) {
    device.arch = arch;
    device.allow_unverified = false;
    EXPECT_EQ(
        test::sentences(check_support(plain(), device).reasons),
        std::string("compute capability is ") + name +
            "; it must be asked for with allow_unverified=True or WGRAD_ALLOW_UNVERIFIED=1: the "
            "kernels for SM " +
            name + " have been emulated and compiled, but have never run on such a GPU");
    EXPECT_THROW(prepare(plain(), device), RuntimeError);
    device.allow_unverified = true;
    EXPECT_TRUE(check_support(plain(), device, "cuda"));
    const Explanation explanation = explain(plain(), device);
    EXPECT_NE(explanation.candidates.front().plan.find("not run on silicon"), std::string::npos);
    ASSERT_EQ(explanation.notes.size(), 1U);
    EXPECT_NE(explanation.notes.front().find("WGRAD_ALLOW_UNVERIFIED=1"), std::string::npos);
  }
}

TEST(CudaSupport, ACpuIsNoCudaDevice) {
  EXPECT_EQ(test::sentences(check_support(plain(), DeviceSpec{}, "cuda").reasons),
            "device is a CPU; it must be a CUDA device for the cuda backend");
}

TEST(CudaSupport, ExplainsEveryCandidate) {
  const Explanation explanation = explain(plain(), hopper());
  ASSERT_FALSE(explanation.candidates.empty());
  const Candidate& best = explanation.candidates.front();
  EXPECT_EQ(best.backend, "cuda");
  EXPECT_EQ(best.plan.substr(0, 5), "sm90 ");
  EXPECT_GT(best.predicted_ms, 0);
  EXPECT_FALSE(best.bound.empty());
}

TEST(CudaSupport, WithoutADeviceEveryCallSaysSo) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "this machine has a CUDA device";
  const std::string missing = test::refusal<RuntimeError>([] { cuda_device(0); });
  EXPECT_NE(missing.find("install one of CUDA 12.0 or later"), std::string::npos) << missing;
  EXPECT_EQ(test::refusal<RuntimeError>([] { prepare(plain(), hopper()); }), missing);
  const Toolchain toolchain = find_toolchain();
  EXPECT_TRUE(toolchain.driver.empty());
  EXPECT_NE(toolchain.driver_missing.find("wgrad: "), std::string::npos);
}

TEST(CudaSupport, ATypicalDeviceIsOneThatKernelsExistFor) {
  for (const int arch : {90, 100, 103})
    EXPECT_TRUE(check_support(plain(), typical_cuda_device(arch))) << arch;
  EXPECT_EQ(test::refusal<RuntimeError>([] { typical_cuda_device(120); }),
            "wgrad: arch is 120; it must be 90 (Hopper), 100 (Blackwell) or 103 (Blackwell Ultra): "
            "there are no kernels for others");
}

}  // namespace
}  // namespace wgrad
