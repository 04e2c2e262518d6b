// The CPU backend on oneDNN.
#pragma once

#include "backends/backend.hpp"

namespace wgrad::backends {

const Backend& cpu_backend();

}  // namespace wgrad::backends
