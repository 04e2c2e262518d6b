#include <fmt/format.h>

#include "backends/backend.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::backends {

plan::Plan Backend::traced(const Problem&, const plan::Plan&, const DeviceSpec&) const {
  throw RuntimeError(
      fmt::format("wgrad: backend is '{}', which keeps no timeline; it must be 'cuda' or 'emu' for "
                  "a traced run",
                  name()));
}

}  // namespace wgrad::backends
