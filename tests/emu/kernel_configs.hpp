// Small configurations that together use every role, layout, split and way out of the SM90 kernel:
// the fuzzer, the mutants and the comparison with hardware run them. Add at the end: cases name
// them by index.
#pragma once

#include <cstddef>
#include <iterator>

#include "wgrad/shared/config.hpp"

namespace wgrad::test {

inline constexpr shared::Config kKernelConfigs[] = {
    {.tile_n = 64, .stages = 2},
    {.tile_n = 128, .stages = 3, .cluster_m = 2, .ring_slots = 3},
    {.tile_n = 64,
     .stages = 3,
     .cluster_m = 2,
     .output = shared::OutputType::kFp32,
     .a = shared::OperandLayout::kKMajor,
     .b = shared::OperandLayout::kKMajor,
     .accumulate = true},
    {.tile_n = 64,
     .stages = 2,
     .a = shared::OperandLayout::kKMajorRagged,
     .b = shared::OperandLayout::kMnMajor,
     .accumulate = true,
     .partial_columns = true},
    {.tile_n = 64, .stages = 3, .ring_slots = 4, .split = shared::WarpgroupSplit::kTiles},
    {.tile_n = 128,
     .stages = 2,
     .input = shared::InputType::kFp16,
     .output = shared::OutputType::kFp16,
     .a = shared::OperandLayout::kMnMajor,
     .b = shared::OperandLayout::kKMajor,
     .output_mode = shared::OutputMode::kDiscrete,
     .accumulate = true},
    {.tile_n = 64,
     .stages = 3,
     .cluster_m = 2,
     .output = shared::OutputType::kFp32,
     .a = shared::OperandLayout::kKMajor,
     .b = shared::OperandLayout::kMnMajor,
     .partial_columns = true,
     .split = shared::WarpgroupSplit::kTiles},
    {.tile_n = 64,
     .stages = 2,
     .cluster_m = 2,
     .a = shared::OperandLayout::kKMajorRagged,
     .b = shared::OperandLayout::kKMajorRagged,
     .output_mode = shared::OutputMode::kDiscrete,
     .partial_columns = true,
     .split = shared::WarpgroupSplit::kTiles},
    {.tile_n = 192, .stages = 2, .output = shared::OutputType::kFp32, .accumulate = true},
    {.tile_n = 256, .stages = 2, .cluster_m = 2, .accumulate = true},
    {.tile_n = 256,
     .stages = 2,
     .input = shared::InputType::kFp16,
     .output = shared::OutputType::kFp32,
     .a = shared::OperandLayout::kKMajor},
    {.tile_n = 192,
     .stages = 2,
     .ring_slots = 3,
     .output = shared::OutputType::kFp16,
     .a = shared::OperandLayout::kMnMajor,
     .b = shared::OperandLayout::kKMajorRagged,
     .split = shared::WarpgroupSplit::kTiles},
    {.tile_n = 192,
     .tail_n = 64,
     .tile_k = 32,
     .stages = 4,
     .ring_slots = 4,
     .split = shared::WarpgroupSplit::kTiles},
    {.tile_n = 128,
     .tail_n = 64,
     .tile_k = 32,
     .stages = 3,
     .cluster_m = 2,
     .output = shared::OutputType::kFp32,
     .accumulate = true},
};

}  // namespace wgrad::test
