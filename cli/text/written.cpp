#include "cli/text/written.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <ostream>
#include <string>
#include <system_error>

#include "wgrad/errors.hpp"

namespace wgrad::cli {

namespace {

/// ": " and what the system says of the last error; "" where it tells of none.
std::string reason() {
  return errno != 0 ? ": " + std::generic_category().message(errno) : "";
}

}  // namespace

std::ofstream opened(const char* flag, const std::string& path) {
  errno = 0;
  std::ofstream file(path);
  if (file) return file;
  throw RuntimeError(fmt::format("wgrad: {} '{}' cannot be written{}", flag, path, reason()));
}

void check_written(std::ostream& stream, std::string_view name) {
  errno = 0;
  if (stream.flush()) return;
  throw RuntimeError(fmt::format("wgrad: {} cannot be written to its end{}", name, reason()));
}

}  // namespace wgrad::cli
