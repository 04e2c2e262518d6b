#include "validate/device_rules.hpp"

#include <gtest/gtest.h>

#include "support/sentences.hpp"

namespace wgrad {
namespace {

TEST(DeviceRules, NameWhatADeviceCannotHave) {
  DeviceSpec device;
  const auto said = [&] { return test::sentences(validate::broken_rules(device)); };
  EXPECT_EQ(said(), "");
  device.threads = -5;
  EXPECT_EQ(said(), "threads is -5; it must be 1 or more on a CPU");
  device.threads = 1;
  device.sm_limit = 3;
  EXPECT_EQ(said(), "sm_limit is 3; it must be 0: the device is a CPU");
  device.kind = DeviceKind::kCuda;
  EXPECT_EQ(said(), "sm_count is 0; it must be at least 1");
  device.sm_count = 132;
  EXPECT_EQ(said(), "");
  device.sm_limit = -1;
  EXPECT_EQ(said(),
            "sm_limit is -1; it must be 0 (no limit) or a positive number of multiprocessors");
  device.kind = DeviceKind(77);
  EXPECT_EQ(said(), "kind is 77; it must be an enumerator, from 0 to 2");
}

}  // namespace
}  // namespace wgrad
