// Writing a finished tile out: box after box through the warp's output ring, drained by the copy
// engine under the next tile's main loop. A warp holds 16 rows of each 64-row band. Its boxes are
// numbered band by band; those outside the matrix, or of another CTA, are left out.
#pragma once

#include "wgrad/common/output_ring.cuh"
#include "wgrad/common/trace.cuh"
#include "wgrad/common/work.cuh"
#include "wgrad/sm90/accumulator.cuh"
#include "wgrad/sm90/edge.cuh"
#include "wgrad/sm90/parts.cuh"

namespace wgrad::device {

template <auto kConfig>
struct Epilogue {
  static constexpr i32 kBands = bands_per_warpgroup(kConfig);
  static constexpr i32 kBoxes = output_boxes(kConfig);  // of one band
  static constexpr i32 kSlots = kConfig.ring_slots;

  const KernelParams& params;
  OutputRing<kConfig> ring;
  Parts<kConfig> parts;
  i32 row = 0;  // the warp's first row in its tile
  Trace<kConfig> trace{};

  WGRAD_DEVICE static bool is_leader() { return arch::lane_index() == 0; }
  WGRAD_DEVICE i32 band_row(const Work& w, i32 band) const {
    return w.m0 + row + band * kWarpgroupRows;
  }
  WGRAD_DEVICE i32 boxes_of_band(const Work& w) const {
    const i32 inside = boxes_inside<kConfig>(params, w, band_row(w, 0));
    if constexpr (kConfig.split_k == 1) return inside;
    return min_of(max_of(inside - parts.first_own(), 0), boxes_per_cta(kConfig));
  }

  // Box `number` of the tile, of `boxes` in each band; false if there is none.
  WGRAD_DEVICE bool locate(const Work& w, i32 boxes, i32 number, arch::Coord& x) const {
    if (boxes == 0) return false;
    const i32 band = number / boxes;
    if (band >= kBands || band_row(w, band) >= params.m) return false;
    x = box_coord<kConfig>(params, w, band_row(w, band), parts.first_own() + number - band * boxes);
    return true;
  }

  // Accumulate: the destination on its way into L2, a few boxes ahead of the store that needs it.
  // Further ahead is slower (docs/notes, reduce-add prefetch).
  WGRAD_DEVICE void prefetch(const Work& w, i32 boxes, i32 number) const {
    arch::Coord x{};
    if (locate(w, boxes, number, x)) arch::prefetch_box(params.map_out, x);
  }
  WGRAD_DEVICE void prefetch_first(const Work& w) const {
    if (!is_leader()) return;
    const i32 boxes = boxes_of_band(w);
    for (i32 number = 0; number < kConfig.prefetch_boxes; ++number) prefetch(w, boxes, number);
  }

  // 16-bit accumulate: the first destination boxes are fetched under the main loop, the others as
  // slots fall free.
  WGRAD_DEVICE void fetch(const Work& w, u32 slot, i32 boxes, i32 number) const {
    arch::Coord x{};
    if (locate(w, boxes, number, x)) ring.fetch(slot, params.map_out, x);
  }
  WGRAD_DEVICE void fetch_first(const Work& w) const {
    if (!is_leader()) return;
    const i32 boxes = boxes_of_band(w);
    arch::wait_stores_read<0>();
    RingCursor<u32(kSlots)> slot = ring.at;
    for (i32 number = 0; number < kSlots; ++number, slot.advance())
      fetch(w, slot.slot, boxes, number);
  }
  // Box `number` has just been handed over from `slot`: the slot before it is free sooner.
  WGRAD_DEVICE void fetch_next(const Work& w, u32 slot, i32 boxes, i32 number) const {
    if (!is_leader()) return;
    arch::wait_stores_read<1>();
    fetch(w, slot == 0 ? u32(kSlots) - 1 : slot - 1, boxes, number - 1 + kSlots);
  }

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
