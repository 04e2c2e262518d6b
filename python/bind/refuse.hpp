// Refusing an argument, with the fields named as the core names them; argument_names.hpp says them
// the caller's way.
#pragma once

#include <vector>

#include "wgrad/support.hpp"

namespace wgrad::python {

using Reasons = std::vector<Reason>;

inline void refuse_if_any(Reasons reasons) {
  if (!reasons.empty()) throw_if_unsupported({std::move(reasons)});
}

[[noreturn]] inline void refuse(Reason reason) {
  throw_if_unsupported({{std::move(reason)}});
  __builtin_unreachable();
}

}  // namespace wgrad::python
