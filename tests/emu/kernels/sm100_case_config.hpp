// What a case depends on of an SM 10.0 configuration, as one of SM 9.0.
#pragma once

#include "wgrad/sm100/config.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::test {

inline shared::Config case_config(const shared::sm100::Config& c) {
  return {.tile_m = c.tile_m,
          .tile_n = c.tile_n,
          .tile_k = c.tile_k,
          .stages = c.stages,
          .cluster_m = c.cluster_m,
          .ring_slots = c.ring_slots,
          .input = c.input,
          .output = c.output,
          .a = c.a,
          .b = c.b,
          .output_mode = c.output_mode,
          .accumulate = c.accumulate,
          .partial_columns = c.partial_columns};
}

}  // namespace wgrad::test
