// One sink for events; silent unless WGRAD_LOG asks.
#pragma once

#include <string_view>

namespace wgrad::core {

/// Writes "wgrad: <text>" to standard error where `level` is at most WGRAD_LOG.
void log(int level, std::string_view text);

/// The same, the first time that this process has that text to say.
void log_once(int level, std::string_view text);

}  // namespace wgrad::core
