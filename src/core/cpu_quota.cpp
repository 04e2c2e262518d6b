#include "core/cpu_quota.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

namespace wgrad::core {
namespace {

namespace fs = std::filesystem;
using Quota = std::optional<double>;

Quota least(Quota a, Quota b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// Of "max 100000" none, of "250000 100000" 2.5.
Quota ratio(const std::string& quota, double period) {
  std::istringstream text(quota);
  double granted = 0;
  if (!(text >> granted) || granted <= 0 || period <= 0) return std::nullopt;
  return granted / period;
}

Quota version_2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period)) return std::nullopt;
  return ratio(quota, period);
}

Quota version_1(const fs::path& group) {
  std::ifstream quotas(group / "cpu.cfs_quota_us");
  std::ifstream periods(group / "cpu.cfs_period_us");
  std::string quota;
  double period = 0;
  if (!(quotas >> quota) || !(periods >> period)) return std::nullopt;
  return ratio(quota, period);
}

/// Of a group and all above it, up to the one that is mounted at `top`.
template <typename Read>
Quota least_upwards(const fs::path& top, const fs::path& group, Read read) {
  Quota quota = read(top);
  fs::path at = top;
  for (const fs::path& name : group.relative_path()) {
    if (name == "..") break;  // of a group outside the namespace nothing is mounted here
    at /= name;
    quota = least(quota, read(at));
  }
  return quota;
}

bool names_cpu(const std::string& controllers) {
  std::istringstream list(controllers);
  for (std::string name; std::getline(list, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

}  // namespace

std::optional<double> cpu_quota(const fs::path& membership, const fs::path& mount) {
  std::ifstream lines(membership);
  Quota quota;
  for (std::string line; std::getline(lines, line);) {  // "4:cpu,cpuacct:/path" or "0::/path"
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) {
      quota = least(quota, least_upwards(mount, group, version_2));
    } else if (names_cpu(controllers)) {
      quota = least(quota, least_upwards(mount / controllers, group, version_1));
      if (controllers != "cpu")
        quota = least(quota, least_upwards(mount / "cpu", group, version_1));
    }
  }
  return quota;
}

}  // namespace wgrad::core
