// The oracle behind the Backend interface: used only when named in PrepareOptions::backend.
#pragma once

#include "backends/backend.hpp"

namespace wgrad::backends {

const Backend& reference_backend();

}  // namespace wgrad::backends
