#include "kernels/sm90_fp8/emulated/family.hpp"

#include "kernels/emulated_untraced.hpp"
#include "kernels/sm90_fp8/config.hpp"
#include "kernels/sm90_fp8/emulated/kernels.hpp"
#include "wgrad/sm90_fp8/smem.hpp"

namespace wgrad::kernels::sm90_fp8 {

const EmulatedFamily* emulated() {
  return untraced_family<LaunchConfig, emulated_kernels>();
}

}  // namespace wgrad::kernels::sm90_fp8
