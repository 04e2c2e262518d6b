#include "cli/written.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <ostream>
#include <system_error>

#include "wgrad/errors.hpp"

namespace wgrad::cli {

void check_written(std::ostream& stream, std::string_view name) {
  errno = 0;
  if (stream.flush()) return;
  const std::string reason = errno != 0 ? ": " + std::generic_category().message(errno) : "";
  throw RuntimeError(fmt::format("wgrad: {} cannot be written to its end{}", name, reason));
}

}  // namespace wgrad::cli
