// The text that kernels/ writes for NVRTC (the file WGRAD_KERNEL_SOURCE), compiled for the emulated
// machine: the one kernel of a fuzzing program.
#include <vector>

#include "emu/kernels/kernel_list.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's words
#define __device__
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
// NOLINTEND(bugprone-reserved-identifier)
#include WGRAD_KERNEL_SOURCE

namespace wgrad::test {

const std::vector<kernels::sm90::CompiledKernel>& kernels() {
  static const std::vector<kernels::sm90::CompiledKernel> kOne = {
      {kConfig, [](const void* parameters) {
         ::wgrad_sm90(*static_cast<const shared::KernelParams*>(parameters));
       }}};
  return kOne;
}

}  // namespace wgrad::test
