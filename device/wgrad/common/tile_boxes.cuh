// The boxes of the output that one warp writes of a tile: `output_box_rows` rows of 128 bytes each,
// numbered band by band; those outside the matrix, or of another CTA, are left out. Where they lie,
// and how the destination is fetched ahead of them.
#pragma once

#include "wgrad/common/output_ring.cuh"
#include "wgrad/common/work.cuh"

namespace wgrad::device {

// Of a tile that no other CTA shares; sm90/parts.cuh: of one that a cluster does.
struct WholeTile {
  static constexpr bool kShared = false;

  u32 base = 0;  // unused: as Parts has them
  u32 rank = 0;

  WGRAD_DEVICE static i32 first_own() { return 0; }
  template <typename Trace>
  WGRAD_DEVICE static void wait_read(Trace&) {}
};

// `Parts`: which boxes are this CTA's. A warp has rows [row, row + output_box_rows) of each of
// kBands bands, kBandRows apart.
template <auto kConfig, typename Parts, i32 kBands, i32 kBandRows>
struct TileBoxes {
  static constexpr i32 kSlots = kConfig.ring_slots;

  const KernelParams& params;
  OutputRing<kConfig> ring;
  Parts parts;
  i32 row = 0;  // the warp's first row in its tile

  WGRAD_DEVICE static bool is_leader() { return arch::lane_index() == 0; }
  WGRAD_DEVICE i32 band_row(const Work& w, i32 band) const { return w.m0 + row + band * kBandRows; }
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
  // Further ahead is slower (docs/notes/2026-11-29-reduce-add-prefetch-distance.md).
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
};

}  // namespace wgrad::device
