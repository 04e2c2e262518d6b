// Whether what was written arrived.
#pragma once

#include <iosfwd>
#include <string_view>

namespace wgrad::cli {

/// Flushes `stream`. Throws RuntimeError where it, called `name` for the message, did not take all
/// that was written to it.
void check_written(std::ostream& stream, std::string_view name);

}  // namespace wgrad::cli
