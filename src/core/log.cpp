#include "core/log.hpp"

#include <cstdio>

#include "core/environment.hpp"

namespace wgrad::core {

void log(int level, std::string_view text) {
  static const int kLevel = read_environment().log_level;
  if (level > kLevel) return;
  std::fprintf(stderr, "wgrad: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace wgrad::core
