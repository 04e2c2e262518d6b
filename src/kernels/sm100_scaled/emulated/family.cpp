#include "kernels/sm100_scaled/emulated/family.hpp"

#include "kernels/emulated_untraced.hpp"
#include "kernels/sm100_scaled/config.hpp"
#include "kernels/sm100_scaled/emulated/kernels.hpp"
#include "wgrad/sm100_scaled/smem.hpp"

namespace wgrad::kernels::sm100_scaled {

const EmulatedFamily* emulated() {
  return untraced_family<LaunchConfig, emulated_kernels>();
}

}  // namespace wgrad::kernels::sm100_scaled
