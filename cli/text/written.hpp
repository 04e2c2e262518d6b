// Files that are written, and whether what was written arrived.
#pragma once

#include <fstream>
#include <string>
#include <string_view>

namespace wgrad::cli {

/// A new file at `path`, the value of `flag`. Throws RuntimeError where it cannot be opened.
std::ofstream opened(const char* flag, const std::string& path);

/// Flushes `stream`. Throws RuntimeError where it, called `name` for the message, did not take all
/// that was written to it.
void check_written(std::ostream& stream, std::string_view name);

}  // namespace wgrad::cli
