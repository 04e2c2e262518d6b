#include <array>

#include "backends/backend.hpp"
#include "backends/cuda_backend.hpp"
#include "backends/reference_backend.hpp"
#ifdef WGRAD_WITH_ONEDNN
#include "backends/cpu_backend.hpp"
#endif
#ifdef WGRAD_WITH_EMU
#include "backends/emu_backend.hpp"
#endif

namespace wgrad::backends {

std::span<const Backend* const> all() {
  static const std::array kAll = {
      &cuda_backend(),
#ifdef WGRAD_WITH_ONEDNN
      &cpu_backend(),
#endif
#ifdef WGRAD_WITH_EMU
      &emu_backend(),
#endif
      &reference_backend(),
  };
  return kAll;
}

}  // namespace wgrad::backends
