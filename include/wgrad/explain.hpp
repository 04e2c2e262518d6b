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
  std::string backend;      ///< "cpu", "cuda", ...; empty where the problem or the device breaks a
                            ///< rule that holds for every backend
  std::string plan;         ///< one line: kernel, tile, stages, ...; empty where it cannot run
  double predicted_ms = 0;  ///< the cost model's time in ms; 0 where the backend predicts none
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

/// What each backend would do. Throws nothing for what cannot run: its reasons say why. A problem
/// or device that breaks a rule of the contract has one candidate, without a backend, with the
/// reasons.
Explanation explain(const Problem& problem, const DeviceSpec& device);

}  // namespace wgrad
