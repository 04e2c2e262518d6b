#include <gtest/gtest.h>
#include <stdlib.h>

#include "support/one_core.hpp"
#include "wgrad/device_spec.hpp"

namespace wgrad {
namespace {

TEST(CpuDevice, SaysWhatThisMachineIs) {
  const DeviceSpec device = cpu_device();
  EXPECT_EQ(device.kind, DeviceKind::kCpu);
  EXPECT_FALSE(device.name.empty());
  EXPECT_GE(device.threads, 1);
  EXPECT_EQ(device.arch, 0);
#if defined(__x86_64__)
  EXPECT_EQ(device.avx512_bf16, __builtin_cpu_supports("avx512bf16") != 0);
#endif
}

TEST(CpuDevice, ThreadsFollowTheAffinityMask) {
  int before = 0;
  {
    const test::OneCore pinned;
    before = pinned.cores_before();
    EXPECT_EQ(cpu_device().threads, 1);
  }
  EXPECT_EQ(cpu_device().threads, before);
}

TEST(CpuDevice, ThreadsFollowTheEnvironment) {
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs
  ASSERT_EQ(setenv("WGRAD_THREADS", "5", 1), 0);
  EXPECT_EQ(cpu_device().threads, 5);
  ASSERT_EQ(unsetenv("WGRAD_THREADS"), 0);
  // NOLINTEND(concurrency-mt-unsafe)
}

}  // namespace
}  // namespace wgrad
