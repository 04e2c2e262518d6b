// The epilogue: four warps, each of which reads its 32 lanes of an accumulator, a row of the tile
// in each, and writes them out box after box (common/tile_boxes.cuh) through its output ring, while
// the multiplier sums the next tile into the other accumulator.
#pragma once

#include "wgrad/common/global_factors.cuh"
#include "wgrad/common/output_element.cuh"
#include "wgrad/common/tile.cuh"
#include "wgrad/common/tile_boxes.cuh"
#include "wgrad/common/trace.cuh"
#include "wgrad/common/work_queue.cuh"
#include "wgrad/sm100/accumulators.cuh"

namespace wgrad::device {

// A config of sm100 or sm100_scaled.
template <auto kConfig>
struct TileEpilogue : TileBoxes<kConfig, WholeTile, 1, kConfig.tile_m> {
  static constexpr u32 kColumns = u32(output_box_columns(kConfig));  // of a box
  static constexpr u32 kUnit = 16 / u32(output_bytes(kConfig));      // columns of 16 bytes
  using Boxes = TileBoxes<kConfig, WholeTile, 1, kConfig.tile_m>;
  using Boxes::is_leader;
  using Boxes::params;
  using Boxes::ring;
  using Boxes::row;
  using Values = float[kColumns];

  u32 base = 0;   // start of dynamic shared memory
  u32 lanes = 0;  // the warp's, as part of an address
  Accumulators<kConfig> accumulators;
  Trace<kConfig> trace{};
  TileFactors<kConfig> factors{};

  // Columns [column, column + kColumns) of this lane's row; zeros of a tile without k blocks.
  WGRAD_DEVICE void load(Values& values, const Work& w, u32 column) const {
    if (w.blocks == 0) {
#pragma unroll
      for (u32 i = 0; i < kColumns; ++i) values[i] = 0.0f;
      return;
    }
    arch::tensor_memory_load(values, accumulators.tile() + lanes + column);
    arch::tensor_memory_wait_loads();
    arch::tensor_memory_pin(values);
    factors.apply(values);
  }

  // This lane's row of a box: 8 units of 16 bytes. With reads_output the box holds the destination.
  WGRAD_DEVICE void write_row(u32 box, const Values& values) const {
#pragma unroll
    for (u32 unit = 0; unit < kColumns / kUnit; ++unit) {
      const u32 address = swizzled(box, arch::lane_index(), unit);
      const float* v = values + u64{unit} * kUnit;
      if constexpr (kConfig.output == OutputType::kFp32) {
        arch::store_shared_quad(address, {{v[0], v[1], v[2], v[3]}});
      } else {
        arch::Chunk c{};
        if constexpr (reads_output(kConfig)) c = arch::load_shared(address);
#pragma unroll
        for (u32 i = 0; i < 4; ++i)
          c.word[i] = round_pair<kConfig.output, reads_output(kConfig)>(
              v[u64{i} * 2], v[u64{i} * 2 + 1], c.word[i]);
        arch::store_shared(address, c);
      }
    }
  }

  WGRAD_DEVICE void acquire_box(i32 box) {
    trace.span(TraceKind::kWaitRing, u32(box), [&] {
      if constexpr (reads_output(kConfig)) {
        ring.wait_fetched();
      } else {
        ring.acquire(is_leader());
      }
    });
  }

  WGRAD_DEVICE void write_box(const Work& w, i32 boxes, i32 box) {
    const u32 slot = ring.at.slot;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): load sets them
    Values values;
    load(values, w, u32(box) * kColumns);
    if (box + 1 == boxes) release(w);
    acquire_box(box);
    const u32 begin = trace.now();
    write_row(ring.box(slot), values);
    ring.submit(is_leader(), params.map_out, box_coord<kConfig>(params, w, w.m0 + row, box));
    trace.record(TraceKind::kWriteBox, u32(box), begin);
    if constexpr (reduces_output(kConfig)) {
      if (is_leader()) this->prefetch(w, boxes, box + kConfig.prefetch_boxes);
    }
    if constexpr (reads_output(kConfig)) {
      if (box > 0) this->fetch_next(w, slot, boxes, box);
    }
  }

  // The last columns of a row, less than 16 bytes of them: the copy engine would write the whole
  // unit. They begin at a multiple of one.
  WGRAD_DEVICE void write_edge(const Work& w) const {
    const i32 first = boxed_columns(kConfig, params.n);
    if (first >= params.n || first >= w.n0 + kConfig.tile_n) return;
    const u32 column = u32(first - w.n0), inside = column % kColumns;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): load sets them
    Values values;
    load(values, w, column - inside);
    const i32 r = w.m0 + row + i32(arch::lane_index());
#pragma unroll
    for (u32 i = 0; i < kColumns; ++i) {
      const i32 at = first - i32(inside) + i32(i);
      if (at < first || at >= params.n || r >= params.m) continue;
      store_element<kConfig>(
          w.address + u64(i64{r} * params.row_pitch_bytes) + u64(at) * output_bytes(kConfig),
          values[i]);
    }
  }

  WGRAD_DEVICE void release(const Work& w) const {
    if (w.blocks > 0) accumulators.release();
  }

  WGRAD_DEVICE void write_out(const Work& w) {
    const i32 boxes = this->boxes_of_band(w);
    if constexpr (reads_output(kConfig)) this->fetch_first(w);
    if constexpr (reduces_output(kConfig)) this->prefetch_first(w);
    if (w.blocks > 0)
      trace.span(TraceKind::kWaitSum, accumulators.at.slot, [&] { accumulators.wait_full(); });
    if constexpr (kConfig.partial_columns) write_edge(w);
    if (boxes == 0) release(w);
#pragma unroll 1
    for (i32 box = 0; box < boxes; ++box) write_box(w, boxes, box);
    if (w.blocks > 0) accumulators.at.advance();
  }

  WGRAD_DEVICE void run() {
    for (WorkQueue<kConfig> queue{.base = base};; queue.at.advance()) {
      const u32 begin = trace.now();
      const Work w = queue.read();
      if (w.blocks < 0) break;
      factors.read(queue);
      queue.let_go_together();
      write_out(w);
      trace.record(TraceKind::kTile, accumulators.at.slot, begin);
    }
    // Before the kernel ends: shared memory is read, global memory written.
    trace.span(TraceKind::kFinish, 0, [&] {
      if (is_leader()) arch::wait_stores();
    });
    trace.anchor();
  }
};

// Warp `warp` of the four.
template <auto kConfig>
WGRAD_DEVICE void write_tiles(const Cta<kConfig>& cta, u32 memory, u32 warp) {
  const u32 rows = warp * u32(output_box_rows(kConfig));
  TileEpilogue<kConfig>{{.params = cta.params,
                         .ring = {.base = cta.smem, .warp = MathWarp{warp}, .at = {}},
                         .parts = {},
                         .row = i32(rows)},
                        cta.smem,
                        rows << 16,
                        {.base = cta.smem, .memory = memory},
                        Trace<kConfig>::template start<kConfig>(cta.params)}
      .run();
}

}  // namespace wgrad::device
