#include "plan/plan.hpp"

#include <algorithm>

#include "wgrad/scale_layout.hpp"

namespace wgrad::plan {
namespace {

constexpr std::int64_t kRegionAlignment = 256;  // as device memory is allocated

std::int64_t room(const WorkspaceRegion& region) {
  return round_up(region.bytes, kRegionAlignment);
}

}  // namespace

std::int64_t workspace_bytes(const Plan& plan) {
  std::int64_t bytes = 0;
  for (const WorkspaceRegion& region : plan.workspace) bytes += room(region);
  return std::max<std::int64_t>(bytes, 1);
}

std::int64_t region_offset(const Plan& plan, std::string_view name) {
  std::int64_t offset = 0;
  for (const WorkspaceRegion& region : plan.workspace) {
    if (region.name == name) return offset;
    offset += room(region);
  }
  return -1;
}

}  // namespace wgrad::plan
