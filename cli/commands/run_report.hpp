// What `wgrad run` prints.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/commands/problem_flags.hpp"
#include "harness/sampled_check.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::cli {

/// The flags of `wgrad run`.
struct RunFlags {
  ProblemFlags problem;
  std::string backend;
  int threads = 0;
  int gpu = 0;
  int repeat = 5;
  std::int64_t samples = 512;
  bool json = false;
};

/// One line of the table.
struct Row {
  std::string shape;
  double scale = 1;
  Problem problem;
  std::vector<double> times_ms;
  harness::CheckResult check;
  std::string backend;
  std::string plan;

  double gflops() const;
};

/// Prints `rows`, at least one, as a table with notes or as JSON to `out`, and each wrong result to
/// `err`. Returns the exit code: kOk or kCheckFailed.
int report(const RunFlags& flags, const std::vector<Row>& rows, const DeviceSpec& device,
           std::ostream& out, std::ostream& err);

}  // namespace wgrad::cli
