// Writing a finished tile out: box after box (common/tile_boxes.cuh) through the warp's output
// ring, drained by the copy engine under the next tile's main loop. A warp holds 16 rows of each
// 64-row band.
#pragma once

#include "wgrad/common/tile_boxes.cuh"
#include "wgrad/common/trace.cuh"
#include "wgrad/sm90/accumulator.cuh"
#include "wgrad/sm90/edge.cuh"
#include "wgrad/sm90/partial_sums.cuh"
#include "wgrad/sm90/parts.cuh"

namespace wgrad::device {

template <auto kConfig>
using WarpBoxes =
    TileBoxes<kConfig, Parts<kConfig>, bands_per_warpgroup(kConfig), i32{kWarpgroupRows}>;

template <auto kConfig>
struct Epilogue : WarpBoxes<kConfig> {
  static constexpr i32 kBands = bands_per_warpgroup(kConfig);
  static constexpr i32 kBoxes = output_boxes(kConfig);  // of one band
  using Boxes = WarpBoxes<kConfig>;
  using Boxes::band_row;
  using Boxes::boxes_of_band;
  using Boxes::fetch_next;
  using Boxes::is_leader;
  using Boxes::params;
  using Boxes::parts;
  using Boxes::prefetch;
  using Boxes::ring;

  Trace<kConfig> trace{};

  template <i32 kBand, i32 kBox>
  WGRAD_DEVICE void write_out_box(const Accumulators<kConfig>& d, const Work& w, i32 boxes) {
    const u32 slot = ring.at.slot;
    const i32 number = kBand * boxes + kBox - parts.first_own();
    trace.span(TraceKind::kWaitRing, u32(kBand * kBoxes + kBox), [&] {
      if constexpr (reads_output(kConfig)) {
        ring.wait_fetched();
      } else {
        ring.acquire(is_leader());
      }
    });
    const u32 begin = trace.now();
    write_box<kConfig, u32(kBox)>(ring.box(slot), d.band[kBand]);
    ring.submit(is_leader(), params.map_out,
                box_coord<kConfig>(params, w, band_row(w, kBand), kBox));
    trace.record(TraceKind::kWriteBox, u32(kBand * kBoxes + kBox), begin);
    if constexpr (reduces_output(kConfig)) {
      if (is_leader()) prefetch(w, boxes, number + kConfig.prefetch_boxes);
    }
    if constexpr (reads_output(kConfig) && kBand + kBox > 0) {
      if (number > 0) fetch_next(w, slot, boxes, number);
    }
  }

  // Boxes kBox, kBox + 1, ... of band kBand and the bands after it: indices into the accumulators
  // are constants.
  template <i32 kBand, i32 kBox>
  WGRAD_DEVICE void write_boxes(const Accumulators<kConfig>& d, const Work& w, i32 boxes) {
    if constexpr (kBox == kBoxes) {
      if constexpr (kBand + 1 < kBands) {
        if (band_row(w, kBand + 1) < params.m) write_boxes<kBand + 1, 0>(d, w, boxes);
      }
    } else {
      if (kBox < parts.first_own() + boxes && parts.owns(kBox))
        write_out_box<kBand, kBox>(d, w, boxes);
      write_boxes<kBand, kBox + 1>(d, w, boxes);
    }
  }

  // split_k: the sums of what this CTA writes.
  WGRAD_DEVICE void add_parts(Accumulators<kConfig>& d, const Work& w, u32 meeting) {
    static_assert(kBands == 1);
    const i32 columns = output_box_columns(kConfig);
    const i32 boxes = (params.n - w.n0 + columns - 1) / columns;
    parts.exchange(d.band[0], u32(min_of(boxes, kBoxes)), meeting, trace);
  }

  // workspace_split: false where another CTA writes the sums out.
  WGRAD_DEVICE bool combine(Accumulators<kConfig>& d, const Work& w, const TokenPart& part) {
    static_assert(kBands == 1);
    const PartialSums<kConfig> sums{.params = params, .base = ring.base, .warp = ring.warp};
    const i32 columns = min_of(params.n - w.n0, kConfig.tile_n);
    bool last = false;
    trace.span(TraceKind::kSendParts, part.index, [&] {
      last = sums.combine(d.band[0], part, u32(ceil_div(columns, i32{Fragment::kColumns})));
    });
    if constexpr (reads_output(kConfig)) {
      if (last) this->fetch_first(w);
    }
    return last;
  }

  WGRAD_DEVICE bool writes_edge(const Work& w) const {
    const i32 edge = boxed_columns(kConfig, params.n) - w.n0;
    return parts.owns(edge / output_box_columns(kConfig));
  }

  WGRAD_DEVICE void write_out(const Accumulators<kConfig>& d, const Work& w) {
    const i32 boxes = boxes_of_band(w);
    if (boxes > 0) write_boxes<0, 0>(d, w, boxes);
    if constexpr (kConfig.partial_columns) {
      if (!writes_edge(w)) return;
#pragma unroll
      for (i32 band = 0; band < kBands; ++band) {
        write_edge<kConfig>(params, w, band_row(w, band), d.band[band]);
      }
    }
  }

  // Before the kernel ends: shared memory is read, global memory written.
  WGRAD_DEVICE void finish() {
    trace.span(TraceKind::kFinish, 0, [&] {
      if (is_leader()) arch::wait_stores();
    });
    trace.anchor();
  }
};

}  // namespace wgrad::device
