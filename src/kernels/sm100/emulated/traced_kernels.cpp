// A few of the planner's kernels, traced and compiled for the emulated machine.
#include <array>
#include <utility>

#include "kernels/sm100/emulated/kernels.hpp"
#include "kernels/sm100/emulated/table.hpp"

namespace wgrad::kernels::sm100 {
namespace {

using shared::OperandLayout;
using shared::OutputType;
using shared::sm100::Config;

constexpr OperandLayout kK = OperandLayout::kKMajor;
constexpr OperandLayout kRagged = OperandLayout::kKMajorRagged;

/// What config.cpp makes of a tile.
constexpr Config traced(Config c) {
  c.stages = max_stages(c);
  c.trace = true;
  return c;
}

constexpr std::array kConfigs = {
    traced({.cluster_m = 2}),
    traced({.cluster_m = 2, .output = OutputType::kFp32, .accumulate = true}),
    traced({.cluster_m = 2, .a = kK, .b = kK}),
    traced({.cluster_m = 2, .a = kRagged, .b = kRagged}),
    traced({}),
};

}  // namespace

const std::vector<CompiledKernel>& emulated_traced_kernels() {
  static const std::vector<CompiledKernel> kAll =
      compiled<kConfigs>(std::make_index_sequence<kConfigs.size()>());
  return kAll;
}

}  // namespace wgrad::kernels::sm100
