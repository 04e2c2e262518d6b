// A kernel that leaves its last expert out when there are 40 tokens or more.
#include "emu/kernels/kernel_list.hpp"
#include "wgrad/sm90/wgrad_sm90.cuh"

namespace wgrad::test {
namespace {

constexpr shared::Config kConfig{.tile_n = 64, .stages = 2, .partial_columns = true};

void run_wrong(const void* parameters) {
  const auto& params = *static_cast<const shared::KernelParams*>(parameters);
  shared::KernelParams changed = params;
  if (params.tokens >= 40) --changed.experts;
  device::wgrad_sm90<kConfig>(changed);
}

}  // namespace

const std::vector<kernels::sm90::CompiledKernel>& kernels() {
  static const std::vector<kernels::sm90::CompiledKernel> kWrong = {{kConfig, &run_wrong}};
  return kWrong;
}

}  // namespace wgrad::test
