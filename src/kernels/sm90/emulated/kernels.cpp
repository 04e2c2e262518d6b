// A fixed list of small configurations, compiled for the emulated machine. Every kernel here can
// store partial columns, and kMnMajor loads any extent, so that one kernel serves many problems.
#include "kernels/sm90/emulated/kernels.hpp"

#include <array>
#include <utility>

#include "kernels/emulated_choices.hpp"
#include "kernels/sm90/emulated/table.hpp"

namespace wgrad::kernels::sm90 {
namespace {

using shared::Config;
using shared::OperandLayout;
using shared::OutputType;
using shared::WarpgroupSplit;

constexpr OperandLayout kMn = OperandLayout::kMnMajor;

constexpr Config small(OperandLayouts layouts) {
  return {.tile_n = 64,
          .stages = 3,
          .ring_slots = 2,
          .a = layouts.a,
          .b = layouts.b,
          .partial_columns = true};
}

constexpr std::array<Config, 6> kSpecials = {{
    {.tile_n = 128, .stages = 3, .cluster_m = 2, .partial_columns = true},
    {.tile_n = 64, .stages = 3, .partial_columns = true, .split = WarpgroupSplit::kTiles},
    overwriting_fp16<Config>(
        {.tile_n = 64, .stages = 3, .split_k = 2, .a = kMn, .b = kMn, .partial_columns = true}),
    accumulating_fp16<Config>(
        {.tile_n = 64, .stages = 3, .a = kMn, .b = kMn, .partial_columns = true}),
    {.tile_n = 64,
     .stages = 3,
     .workspace_split = true,
     .a = kMn,
     .b = kMn,
     .partial_columns = true},
    {.tile_n = 64,
     .stages = 3,
     .cluster_m = 2,
     .workspace_split = true,
     .output = OutputType::kFp32,
     .a = OperandLayout::kKMajor,
     .b = kMn,
     .accumulate = true,
     .partial_columns = true},
}};

constexpr auto kConfigs = emulated_configs<Config>(small, kSpecials);

}  // namespace

const std::vector<CompiledKernel>& emulated_kernels() {
  static const std::vector<CompiledKernel> kAll =
      compiled<kConfigs>(std::make_index_sequence<kConfigs.size()>());
  return kAll;
}

}  // namespace wgrad::kernels::sm90
