#include <fmt/format.h>

#include "backends/backend.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::backends {

plan::Plan Backend::traced(const Problem&, const plan::Plan&, const DeviceSpec&) const {
  throw RuntimeError(
      fmt::format("wgrad: backend {} keeps no timeline; the cuda and emu backends do", name()));
}

}  // namespace wgrad::backends
