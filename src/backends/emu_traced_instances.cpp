// Kernels of full-sized tiles, which record what they do.
#include <array>
#include <utility>

#include "backends/emu_instances.hpp"
#include "backends/emu_kernel_table.hpp"

namespace wgrad::backends {
namespace {

using shared::Config;
using shared::OperandLayout;
using shared::OutputType;
using shared::WarpgroupSplit;

constexpr Config traced(Config c) {
  c.ring_slots = c.tile_n == 256 ? 2 : 4;
  c.stages = shared::max_stages(c);
  c.trace = true;
  return c;
}

constexpr std::array kConfigs = {
    traced({.cluster_m = 2}),
    traced({.cluster_m = 2, .output = OutputType::kFp32, .accumulate = true}),
    traced({.tile_n = 128, .cluster_m = 2, .split = WarpgroupSplit::kTiles}),
    traced({.tile_n = 192, .split = WarpgroupSplit::kTiles}),
    traced({.cluster_m = 2, .a = OperandLayout::kKMajor, .b = OperandLayout::kKMajor}),
    traced({.tile_n = 128, .a = OperandLayout::kKMajorRagged, .b = OperandLayout::kKMajorRagged}),
};

}  // namespace

const std::vector<EmuKernel>& emu_traced_kernels() {
  static const std::vector<EmuKernel> kAll =
      compiled<kConfigs>(std::make_index_sequence<kConfigs.size()>());
  return kAll;
}

}  // namespace wgrad::backends
