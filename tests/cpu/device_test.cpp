#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>

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
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (CPU_ISSET(first, &before) == 0) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(cpu_device().threads, 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(cpu_device().threads, CPU_COUNT(&before));
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
