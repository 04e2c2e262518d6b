// What the planner would do, and why.
#pragma once

#include <string>
#include <vector>

#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/support.hpp"

namespace wgrad {

/// One way to compute the problem.
struct Candidate {
  std::string backend;      ///< "cpu", "cuda", ...
  std::string plan;         ///< one line: kernel, tile, stages, ...
  double predicted_ms = 0;  ///< the cost model's time; 0 where the backend predicts none
  std::string bound;        ///< what the prediction is limited by: "tensor cores", "memory", ...
  std::vector<Reason> reasons;  ///< empty: usable
  bool on_request = false;      ///< runs only where PrepareOptions::backend names it
};

/// Usable candidates, the chosen one first; those that cannot run; and last those that run on
/// request alone. Notes say which arguments have no effect here.
struct Explanation {
  std::vector<Candidate> candidates;
  std::vector<std::string> notes;
};

Explanation explain(const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad
