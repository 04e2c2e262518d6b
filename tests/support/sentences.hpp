// Reasons as the text people read.
#pragma once

#include <string>
#include <vector>

#include "wgrad/support.hpp"

namespace wgrad::test {

/// One sentence a line; "" for no reason at all.
inline std::string sentences(const std::vector<Reason>& reasons) {
  std::string text;
  for (const Reason& reason : reasons) {
    if (!text.empty()) text += '\n';
    text += to_string(reason);
  }
  return text;
}

}  // namespace wgrad::test
