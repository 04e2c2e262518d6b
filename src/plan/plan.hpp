// A plan: everything chosen for one problem on one device, as a value.
#pragma once

#include <cstdint>
#include <string>

#include "plan/any_config.hpp"

namespace wgrad::plan {

struct Plan {
  std::string backend;               ///< name of the backend that made it
  AnyConfig config = {};             ///< how: for the backend alone
  std::string summary;               ///< one line for people: kernel, tile, stages, ...
  std::int64_t workspace_bytes = 1;  ///< device bytes one run may use, at least 1
  double predicted_ms = 0;           ///< 0: the backend predicts none
  std::string bound;                 ///< what the prediction is limited by
};

}  // namespace wgrad::plan
