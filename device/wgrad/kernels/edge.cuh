// The last columns of a row whose length is no multiple of 16 bytes: stored (or added) one by one
// from the accumulator, since the copy engine would write the whole 16-byte unit.
#pragma once

#include "wgrad/kernels/work.cuh"
#include "wgrad/prim/accumulator.cuh"

namespace wgrad::device {

template <Config kConfig>
WGRAD_DEVICE void store_element(u64 address, float value) {
  if constexpr (kConfig.output == OutputType::kFp32) {
    if constexpr (kConfig.accumulate) value += arch::load_output_f32(address);
    arch::store_output_f32(address, value);
  } else {
    u32 there = 0;
    if constexpr (kConfig.accumulate) there = arch::load_output_u16(address);
    arch::store_output_u16(
        address, round_pair<kConfig.output, kConfig.accumulate>(value, 0.0f, there) & 0xffffu);
  }
}

// A warp: its 16 rows from `row` on.
template <Config kConfig, u32 kCount>
WGRAD_DEVICE void write_edge(const KernelParams& p, const Work& w, i32 row,
                             const float (&d)[kCount]) {
  const i32 first = boxed_columns(kConfig, p.n);
  if (first < w.n0 || first >= w.n0 + kConfig.tile_n) return;
  const i32 lane = i32(arch::lane_index());
#pragma unroll
  for (i32 i = 0; i < i32(kCount); ++i) {
    const i32 column = w.n0 + i / 4 * 8 + lane % 4 * 2 + i % 2;
    const i32 r = row + lane / 4 + i % 4 / 2 * 8;
    if (column < first || column >= p.n || r >= p.m) continue;
    store_element<kConfig>(
        w.address + u64(i64{r} * p.row_pitch_bytes) + u64(column) * output_bytes(kConfig), d[i]);
  }
}

}  // namespace wgrad::device
