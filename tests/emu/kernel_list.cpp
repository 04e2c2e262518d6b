// Small configurations that together use every role, layout, split and way out of the SM90 kernel.
// WGRAD_ONLY_KERNEL builds one of them alone.
#include "emu/kernel_list.hpp"

#include "wgrad/kernels/wgrad_sm90.cuh"

namespace wgrad::test {
namespace {

using shared::Config;
using shared::InputType;
using shared::OperandLayout;
using shared::OutputMode;
using shared::OutputType;
using shared::WarpgroupSplit;

template <Config kConfig>
void run_kernel(const shared::KernelParams& params) {
  device::wgrad_sm90<kConfig>(params);
}

constexpr Config kConfigs[] = {
    {.tile_n = 64, .stages = 2},
    {.tile_n = 128, .stages = 3, .cluster_m = 2, .ring_slots = 3},
    {.tile_n = 64,
     .stages = 3,
     .cluster_m = 2,
     .output = OutputType::kFp32,
     .a = OperandLayout::kKMajor,
     .b = OperandLayout::kKMajor,
     .accumulate = true},
    {.tile_n = 64,
     .stages = 2,
     .a = OperandLayout::kKMajorRagged,
     .b = OperandLayout::kMnMajor,
     .accumulate = true,
     .partial_columns = true},
    {.tile_n = 64, .stages = 3, .ring_slots = 4, .split = WarpgroupSplit::kTiles},
    {.tile_n = 128,
     .stages = 2,
     .input = InputType::kFp16,
     .output = OutputType::kFp16,
     .a = OperandLayout::kMnMajor,
     .b = OperandLayout::kKMajor,
     .output_mode = OutputMode::kDiscrete,
     .accumulate = true},
    {.tile_n = 64,
     .stages = 3,
     .cluster_m = 2,
     .output = OutputType::kFp32,
     .a = OperandLayout::kKMajor,
     .b = OperandLayout::kMnMajor,
     .partial_columns = true,
     .split = WarpgroupSplit::kTiles},
    {.tile_n = 64,
     .stages = 2,
     .cluster_m = 2,
     .a = OperandLayout::kKMajorRagged,
     .b = OperandLayout::kKMajorRagged,
     .output_mode = OutputMode::kDiscrete,
     .partial_columns = true,
     .split = WarpgroupSplit::kTiles},
    {.tile_n = 192, .stages = 2, .output = OutputType::kFp32, .accumulate = true},
    {.tile_n = 256, .stages = 2, .cluster_m = 2, .accumulate = true},
};

#define WGRAD_EMU_KERNEL(i) \
  { kConfigs[i], &run_kernel<kConfigs[i]> }

}  // namespace

const std::vector<backends::EmuKernel>& kernels() {
#ifdef WGRAD_ONLY_KERNEL
  static const std::vector<backends::EmuKernel> kAll = {WGRAD_EMU_KERNEL(WGRAD_ONLY_KERNEL)};
#else
  static const std::vector<backends::EmuKernel> kAll = {
      WGRAD_EMU_KERNEL(0), WGRAD_EMU_KERNEL(1), WGRAD_EMU_KERNEL(2), WGRAD_EMU_KERNEL(3),
      WGRAD_EMU_KERNEL(4), WGRAD_EMU_KERNEL(5), WGRAD_EMU_KERNEL(6), WGRAD_EMU_KERNEL(7),
      WGRAD_EMU_KERNEL(8), WGRAD_EMU_KERNEL(9)};
#endif
  return kAll;
}

}  // namespace wgrad::test
