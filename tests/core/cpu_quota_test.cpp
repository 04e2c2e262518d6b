#include "core/cpu_quota.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "jit/temporary_folder.hpp"

namespace wgrad::core {
namespace {

class CpuQuota : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = folder_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::optional<double> quota() const {
    return cpu_quota(folder_.path() / "cgroup", folder_.path() / "mount");
  }

  TemporaryFolder folder_;
};

TEST_F(CpuQuota, IsNoneWhereNothingLimits) {
  EXPECT_EQ(quota(), std::nullopt) << "no file says of which group this process is";
  write("cgroup", "0::/a/b\n");
  EXPECT_EQ(quota(), std::nullopt);
  write("mount/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), std::nullopt);
  write("mount/a/b/cpu.max", "nonsense\n");
  EXPECT_EQ(quota(), std::nullopt);
}

TEST_F(CpuQuota, IsTheLeastOfTheGroupAndThoseAboveIt) {
  write("cgroup", "0::/a/b\n");
  write("mount/a/b/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota(), 2.5);
  write("mount/a/cpu.max", "50000 100000\n");
  EXPECT_EQ(quota(), 0.5);
  write("mount/cpu.max", "20000 100000\n");
  EXPECT_EQ(quota(), 0.2) << "a container sees its own group as the topmost";
  write("cgroup", "0::/../elsewhere\n");
  EXPECT_EQ(quota(), 0.2) << "a path that leaves the mounted groups";
}

TEST_F(CpuQuota, ReadsVersion1) {
  write("cgroup", "5:memory:/m\n4:cpu,cpuacct:/a\n0::/\n");
  write("mount/m/cpu.max", "10000 100000\n");
  write("mount/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  write("mount/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), std::nullopt);
  write("mount/cpu,cpuacct/a/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(quota(), 1.5);
  write("mount/cpu/cpu.cfs_quota_us", "100000\n");
  write("mount/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 1.0);
}

}  // namespace
}  // namespace wgrad::core
