// The command line as a function, so that a test can call it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace wgrad::cli {

/// What the process returns to the shell.
enum ExitCode : int {
  kOk = 0,
  kCheckFailed = 1,  ///< a result differs from the oracle by more than the stated bound
  kBadArgument = 2,  ///< a flag or value that cannot be honoured
  kCannotRun = 3,    ///< a missing capability of this machine or build, a file that takes no more
};

/// Runs `wgrad arguments...`. Results go to `out`, messages and progress to `err`.
int run_app(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace wgrad::cli
