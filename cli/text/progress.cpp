#include "cli/text/progress.hpp"

#include <unistd.h>

#include <ostream>

namespace wgrad::cli {

void Progress::show(std::string_view text) {
  if (enabled_) err_ << "\r\x1b[K" << text << std::flush;
}

bool stderr_is_terminal() noexcept {
  return isatty(STDERR_FILENO) == 1;
}

}  // namespace wgrad::cli
