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
  DeviceSpec device = hopper();
  for (const auto& [arch, name] : {std::pair{100, "10.0"}, {103, "10.3"}, {120, "12.0"}}) {
    device.arch = arch;
    const Support support = check_support(plain(), device);
    ASSERT_EQ(support.reasons.size(), 1U);
    EXPECT_EQ(to_string(support.reasons[0]),
              std::string("compute capability is ") + name +
                  "; it must be 9.0 (Hopper): there is no kernel for SM " + name + " yet");
    EXPECT_THROW(prepare(plain(), device), RuntimeError);
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
  EXPECT_TRUE(check_support(plain(), typical_cuda_device(90)));
  EXPECT_EQ(test::refusal<RuntimeError>([] { typical_cuda_device(100); }),
            "wgrad: arch is 100; it must be 90 (Hopper): there are no kernels for others yet");
}

}  // namespace
}  // namespace wgrad
