// Kernels that record what they do, as the planner sizes them for the commands of docs/emulator.md
// (tests/emu/timeline_test.cpp); of other problems the nearest one shows what it can.
#include <array>
#include <utility>

#include "kernels/sm90/emulated/kernels.hpp"
#include "kernels/sm90/emulated/table.hpp"

namespace wgrad::kernels::sm90 {
namespace {

using shared::Config;
using shared::OperandLayout;
using shared::OutputType;
using shared::WarpgroupSplit;

constexpr OperandLayout kK = OperandLayout::kKMajor;
constexpr OperandLayout kRagged = OperandLayout::kKMajorRagged;

/// What config.cpp makes of a tile.
constexpr Config traced(Config c) {
  c.tile_k = shared::is_mn_major(c.a) && shared::is_mn_major(c.b) ? 32 : 64;
  c.ring_slots = c.tile_n == 256 ? 2 : c.tile_n == 128 ? 3 : 4;
  c.stages = shared::max_stages(c);
  c.trace = true;
  return c;
}

constexpr std::array kConfigs = {
    // MN-major, whole tiles of 256 columns; narrow last ones of 64 and 128.
    traced({}),
    traced({.output = OutputType::kFp32, .accumulate = true}),
    traced({.tile_n = 192, .tail_n = 64, .split = WarpgroupSplit::kTiles}),
    traced({.tile_n = 192,
            .tail_n = 64,
            .output = OutputType::kFp32,
            .accumulate = true,
            .split = WarpgroupSplit::kTiles}),
    traced({.tile_n = 192,
            .tail_n = 128,
            .cluster_m = 2,
            .output = OutputType::kFp32,
            .accumulate = true,
            .split = WarpgroupSplit::kTiles}),
    traced({.tile_n = 64, .split = WarpgroupSplit::kTiles}),
    traced({.tile_n = 128, .split = WarpgroupSplit::kTiles}),
    traced({.tile_n = 128,
            .output = OutputType::kFp32,
            .accumulate = true,
            .split = WarpgroupSplit::kTiles}),
    traced({.tile_n = 192, .output = OutputType::kFp32, .split = WarpgroupSplit::kTiles}),
    // CTAs that share an expert's tokens.
    traced({.tile_n = 128, .split_k = 2}),
    // Pairs that share B.
    traced({.tile_n = 128, .cluster_m = 2, .split = WarpgroupSplit::kTiles}),
    traced({.cluster_m = 2, .a = kK, .b = kK}),
    // Expert blocks of their own row pitch.
    traced({.a = kRagged, .b = kRagged}),
};

}  // namespace

const std::vector<CompiledKernel>& emulated_traced_kernels() {
  static const std::vector<CompiledKernel> kAll =
      compiled<kConfigs>(std::make_index_sequence<kConfigs.size()>());
  return kAll;
}

}  // namespace wgrad::kernels::sm90
