// generated_kernel.cpp for the SM 10.0 kernel.
#include "emu/kernels/sm100_kernel_list.hpp"

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's words
#define __device__
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
// NOLINTEND(bugprone-reserved-identifier)
#include WGRAD_KERNEL_SOURCE

namespace wgrad::test {

const std::vector<kernels::sm100::CompiledKernel>& sm100_kernels() {
  static const std::vector<kernels::sm100::CompiledKernel> kOne = {
      {kConfig, [](const void* parameters) {
         ::wgrad_sm100(*static_cast<const shared::KernelParams*>(parameters));
       }}};
  return kOne;
}

}  // namespace wgrad::test
