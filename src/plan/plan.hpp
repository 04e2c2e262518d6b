// A plan: everything chosen for one problem on one device, as a value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/any_config.hpp"

namespace wgrad::kernels {
struct KernelFamily;
}

namespace wgrad::plan {

/// A named piece of the workspace that a run uses.
struct WorkspaceRegion {
  std::string_view name;  ///< "trace", ...; of static lifetime
  std::int64_t bytes = 0;

  bool operator==(const WorkspaceRegion&) const = default;
};

struct Plan {
  std::string backend;                            ///< name of the backend that made it
  const kernels::KernelFamily* family = nullptr;  ///< whose kernel it runs; null: no family's
  AnyConfig config = {};                          ///< for the family, or else the backend, to read
  std::string summary;                          ///< one line for people: kernel, tile, stages, ...
  std::vector<WorkspaceRegion> workspace = {};  ///< one behind the other; see region_offset()
  double predicted_ms = 0;                      ///< 0: the backend predicts none
  std::string bound;                            ///< what the prediction is limited by

  bool operator==(const Plan&) const = default;
};

/// Device bytes that one run uses; at least 1, so that a caller always has something to allocate.
std::int64_t workspace_bytes(const Plan& plan);

/// Bytes from the start of the workspace to the region called `name`, a multiple of 256; -1: the
/// plan has no such region.
std::int64_t region_offset(const Plan& plan, std::string_view name);

}  // namespace wgrad::plan
