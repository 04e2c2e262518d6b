// Refusing an argument: fields are named as the core names them, and told the caller's way.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wgrad/support.hpp"

namespace wgrad::call {

using Reasons = std::vector<Reason>;

inline void refuse_if_any(Reasons reasons) {
  if (!reasons.empty()) throw_if_unsupported({std::move(reasons)});
}

[[noreturn]] inline void refuse(Reason reason) {
  throw_if_unsupported({{std::move(reason)}});
  __builtin_unreachable();
}

/// Whose argument names a message uses.
enum class Api : std::uint8_t {
  kSample,   ///< the operator class: sample_a, sample_offsets, ...
  kCall,     ///< execute(), the wrapper and JAX's function: a_tensor, wgrad_ptrs, ...
  kNatural,  ///< grouped_wgrad(): x, dy, out, ...
};

/// "a" is "sample_a", "a_tensor" or "x"; fields without another name keep theirs.
std::string_view argument(Api api, std::string_view field);

/// The same reasons in the words of `api`: "wgrad_ptrs[3]" becomes "out[3]". Those of the drop-in
/// names end in the reference's own words where it has some.
Reasons translate(Api api, Reasons reasons);

/// The argument that a reason is about: "wgrad" of "wgrad row pitch", "a" of "a_ld".
std::string_view subject(const Reason& reason);

/// Adds to `said` those of `more` that are new, and not of an argument that `said` shows to be
/// unreadable: what else is judged of it follows from that.
void add_judged(Reasons& said, Reasons more);

/// Calls `body`; what it refuses is added to `reasons`.
template <class Body>
void collect(Reasons& reasons, Body&& body) {
  try {
    body();
  } catch (const std::exception& error) {
    const auto* refusal = dynamic_cast<const Refusal*>(&error);
    if (refusal == nullptr) throw;
    add_judged(reasons, refusal->reasons());
  }
}

/// Calls `body`; what it refuses is told in the words of `api`.
template <class Body>
auto in_words_of(Api api, Body&& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    const auto* refusal = dynamic_cast<const Refusal*>(&error);
    if (refusal == nullptr) throw;
    throw_if_unsupported({translate(api, refusal->reasons())});
    throw;
  }
}

}  // namespace wgrad::call
