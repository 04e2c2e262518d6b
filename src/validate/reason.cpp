#include <fmt/format.h>

#include <algorithm>

#include "wgrad/errors.hpp"
#include "wgrad/support.hpp"

namespace wgrad {
namespace {

/// A ValueError or RuntimeError that carries its reasons.
template <class Error>
class Refused final : public Error, public Refusal {
 public:
  Refused(const std::string& text, const std::vector<Reason>& reasons)
      : Error(text), Refusal(reasons) {}
};

}  // namespace

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
  if (bad_argument) throw Refused<ValueError>(text, support.reasons);
  throw Refused<RuntimeError>(text, support.reasons);
}

}  // namespace wgrad
