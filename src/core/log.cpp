#include "core/log.hpp"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "core/environment.hpp"

namespace wgrad::core {

void log(int level, std::string_view text) {
  static const int kLevel = read_environment().log_level;
  if (level > kLevel) return;
  std::fprintf(stderr, "wgrad: %.*s\n", static_cast<int>(text.size()), text.data());
}

void log_once(int level, std::string_view text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.emplace(text).second) log(level, text);
}

}  // namespace wgrad::core
