// The last columns of a row whose length is no multiple of 16 bytes: stored (or added) one by one
// from the accumulator, since the copy engine would write the whole 16-byte unit.
#pragma once

#include "wgrad/common/work.cuh"
#include "wgrad/sm90/accumulator.cuh"

namespace wgrad::device {

// A warp: its 16 rows from `row` on. The edge's columns lie in one 8-column group of the
// accumulator, since `first` is a multiple of 16 bytes and less than 16 bytes follow.
template <auto kConfig, u32 kCount>
WGRAD_DEVICE void write_edge(const KernelParams& p, const Work& w, i32 row,
                             const float (&d)[kCount]) {
  const i32 first = boxed_columns(kConfig, p.n);
  if (first < w.n0 || first >= w.n0 + kConfig.tile_n) return;
  const u32 group = u32(first - w.n0) / Fragment::kColumns;
  float of_group[4] = {};
#pragma unroll
  for (u32 i = 0; i < kCount; ++i) {
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): the main loop has set it
    if (i / 4 == group) of_group[i % 4] = d[i];
  }
  const i32 lane = i32(arch::lane_index());
#pragma unroll
  for (i32 i = 0; i < 4; ++i) {
    const i32 column = w.n0 + i32(group) * 8 + Fragment::column(lane, i);
    const i32 r = row + Fragment::row<pairs_rows(kConfig)>(lane, i);
    if (column < first || column >= p.n || r >= p.m) continue;
    store_element<kConfig>(
        w.address + u64(i64{r} * p.row_pitch_bytes) + u64(column) * output_bytes(kConfig),
        of_group[i]);
  }
}

}  // namespace wgrad::device
