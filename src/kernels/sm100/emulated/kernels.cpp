// A fixed list of small configurations, compiled for the emulated machine. Every kernel here can
// store partial columns, and kMnMajor loads any extent, so that one kernel serves many problems.
#include "kernels/sm100/emulated/kernels.hpp"

#include <array>
#include <utility>

#include "kernels/emulated_choices.hpp"
#include "kernels/sm100/emulated/table.hpp"

namespace wgrad::kernels::sm100 {
namespace {

using shared::OperandLayout;
using shared::sm100::Config;

constexpr OperandLayout kMn = OperandLayout::kMnMajor;
constexpr OperandLayout kK = OperandLayout::kKMajor;
constexpr OperandLayout kRagged = OperandLayout::kKMajorRagged;

constexpr Config small(OperandLayouts layouts) {
  return {.tile_n = 64, .stages = 3, .a = layouts.a, .b = layouts.b, .partial_columns = true};
}

constexpr std::array<Config, 7> kSpecials = {{
    {.tile_n = 192, .stages = 3, .partial_columns = true},
    {.tile_n = 128, .stages = 3, .cluster_m = 2, .a = kMn, .b = kMn, .partial_columns = true},
    {.tile_n = 64, .stages = 3, .cluster_m = 2, .a = kK, .b = kK, .partial_columns = true},
    {.tile_n = 128, .stages = 3, .cluster_m = 2, .a = kK, .b = kMn, .partial_columns = true},
    {.tile_n = 64,
     .stages = 3,
     .cluster_m = 2,
     .a = kRagged,
     .b = kRagged,
     .partial_columns = true},
    overwriting_fp16(small(kTokenMajor)),
    accumulating_fp16(small(kTokenMajor)),
}};

constexpr auto kConfigs = emulated_configs<Config>(small, kSpecials);

}  // namespace

const std::vector<CompiledKernel>& emulated_kernels() {
  static const std::vector<CompiledKernel> kAll =
      compiled<kConfigs>(std::make_index_sequence<kConfigs.size()>());
  return kAll;
}

}  // namespace wgrad::kernels::sm100
