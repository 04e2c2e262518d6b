// Every Config that a planner may choose, for tests that must hold for all of them.
#pragma once

#include <vector>

#include "wgrad/sm90/smem.hpp"

namespace wgrad::shared {

inline std::vector<OperandLayout> all_layouts() {
  return {OperandLayout::kMnMajorBlocked, OperandLayout::kMnMajor, OperandLayout::kKMajor,
          OperandLayout::kKMajorRagged};
}

inline std::vector<Config> all_configs() {
  std::vector<Config> configs;
  for (const i32 tile_n : {64, 128, 192, 256}) {
    for (const i32 cluster_m : {1, 2}) {
      for (const OutputType output : {OutputType::kBf16, OutputType::kFp16, OutputType::kFp32}) {
        for (const OperandLayout a : all_layouts()) {
          for (const OperandLayout b : all_layouts()) {
            for (const WarpgroupSplit split : {WarpgroupSplit::kRows, WarpgroupSplit::kTiles}) {
              Config c{.tile_n = tile_n, .cluster_m = cluster_m, .output = output, .a = a, .b = b};
              c.split = split;
              c.stages = max_stages(c);
              if (is_valid(c)) configs.push_back(c);
              for (const i32 split_k : {2, 4}) {
                c.split_k = split_k;
                c.stages = max_stages(c);
                if (is_valid(c)) configs.push_back(c);
              }
            }
          }
        }
      }
    }
  }
  return configs;
}

}  // namespace wgrad::shared
