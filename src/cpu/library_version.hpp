// Which oneDNN this process runs.
#pragma once

#include <string>

namespace wgrad::cpu {

struct LibraryVersion {
  std::string running;
  std::string compiled;         ///< of the headers this was compiled with
  std::string instruction_set;  ///< the best that the library uses on this CPU
};

LibraryVersion library_version();

}  // namespace wgrad::cpu
