#include "kernels/sm90_scaled/emulated/family.hpp"

#include "kernels/emulated_untraced.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "kernels/sm90_scaled/emulated/kernels.hpp"
#include "wgrad/sm90_scaled/smem.hpp"

namespace wgrad::kernels::sm90_scaled {

const EmulatedFamily* emulated() {
  return untraced_family<LaunchConfig, emulated_kernels>();
}

}  // namespace wgrad::kernels::sm90_scaled
