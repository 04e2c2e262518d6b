#include <fmt/format.h>

#include <algorithm>

#include "wgrad/errors.hpp"
#include "wgrad/support.hpp"

namespace wgrad {

std::string to_string(const Reason& reason) {
  return fmt::format("{} is {}; it must be {}", reason.field, reason.got, reason.need);
}

void throw_if_unsupported(const Support& support) {
  if (support) return;
  std::string text = "wgrad: ";
  bool bad_argument = false;
  for (const Reason& reason : support.reasons) {
    if (&reason != &support.reasons.front()) text += "\n";
    text += to_string(reason);
    bad_argument = bad_argument || reason.kind == ReasonKind::kBadArgument;
  }
  if (bad_argument) throw ValueError(text);
  throw RuntimeError(text);
}

}  // namespace wgrad
