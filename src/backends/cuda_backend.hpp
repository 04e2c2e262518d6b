// CUDA devices behind the Backend interface.
#pragma once

#include "backends/backend.hpp"

namespace wgrad::backends {

const Backend& cuda_backend();

}  // namespace wgrad::backends
