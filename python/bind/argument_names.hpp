// The one place that knows how each Python function calls the arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "refuse.hpp"

namespace wgrad::python {

/// Whose argument names a message uses.
enum class Api : std::uint8_t {
  kSample,   ///< the operator class: sample_a, sample_offsets, ...
  kCall,     ///< execute() and the wrapper: a_tensor, wgrad_ptrs, ...
  kNatural,  ///< grouped_wgrad(): x, dy, out, ...
};

/// "a" is "sample_a", "a_tensor" or "x"; fields without another name keep theirs.
std::string_view argument(Api api, std::string_view field);

/// The same reasons in the words of `api`: "wgrad_ptrs[3]" becomes "out[3]".
Reasons translate(Api api, Reasons reasons);

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

}  // namespace wgrad::python
