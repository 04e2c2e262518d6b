// The words in which cuDNN Frontend's release 1.32 refuses the same, for who looks for them.
#pragma once

#include <string_view>

#include "wgrad/support.hpp"

namespace wgrad::call {

/// Of a reason in the core's names; "" where the reference has none, or none that are short. The
/// values it tells after them are left out: the sentence before tells them.
std::string_view reference_words(const Reason& reason);

}  // namespace wgrad::call
