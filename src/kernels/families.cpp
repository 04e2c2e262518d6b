#include <array>

#include "kernels/family.hpp"

namespace wgrad::kernels {

#define WGRAD_FAMILY(folder)         \
  namespace folder {                 \
  extern const KernelFamily kFamily; \
  }
#include "kernels/families.inc"
#undef WGRAD_FAMILY

std::span<const KernelFamily* const> families() {
#define WGRAD_FAMILY(folder) &folder::kFamily,
  static constexpr std::array kAll = {
#include "kernels/families.inc"
  };
#undef WGRAD_FAMILY
  return kAll;
}

}  // namespace wgrad::kernels
