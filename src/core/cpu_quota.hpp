// What a container may use of the processors, in time.
#pragma once

#include <filesystem>
#include <optional>

namespace wgrad::core {

/// Cores' worth of time that this process's control groups grant it, 0.5 or 2.5 say; nullopt where
/// none limits it. The least of its group and all above it counts. Reads version 2 (cpu.max) and
/// version 1 (cpu.cfs_quota_us) below `mount`, and the group's path in `membership`.
std::optional<double> cpu_quota(const std::filesystem::path& membership = "/proc/self/cgroup",
                                const std::filesystem::path& mount = "/sys/fs/cgroup");

}  // namespace wgrad::core
