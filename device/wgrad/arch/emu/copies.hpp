// The copy engine: arch/ptx/tma_load.cuh, tma_store.cuh. Copies by threads: async_copy.cuh.
#pragma once

#include "wgrad/arch/emu/instructions.hpp"

namespace wgrad::device::arch {

struct Coord {
  i32 c[5];
};

WGRAD_DEVICE void copy_async(u32 target, u64 source, u32 bytes) {
  emu::copy_async(target, source, bytes);
}
WGRAD_DEVICE void commit_copies() {
  emu::commit_copies();
}
template <u32 kPending>
WGRAD_DEVICE void wait_copies() {
  emu::wait_copies(kPending);
}

WGRAD_DEVICE void prefetch_map(const TensorMap& map) {
  emu::prefetch_map(map);
}

template <u32 kRank>
WGRAD_DEVICE void load_box(u32 target, const TensorMap& map, u32 barrier, const Coord& x) {
  static_assert(kRank == 2 || kRank == 4 || kRank == 5);
  emu::load_box(target, map, barrier, x.c, kRank, 0);
}
WGRAD_DEVICE void load_bytes(u32 target, u64 source, u32 bytes, u32 barrier) {
  emu::load_bytes(target, source, bytes, barrier);
}
template <u32 kRank>
WGRAD_DEVICE void load_box_multicast(u32 target, const TensorMap& map, u32 barrier, const Coord& x,
                                     u16 cta_mask) {
  static_assert(kRank == 2 || kRank == 4 || kRank == 5);
  emu::load_box(target, map, barrier, x.c, kRank, cta_mask);
}
// The barrier in this CTA or its peer.
template <u32 kRank>
WGRAD_DEVICE void load_box_of_pair(u32 target, const TensorMap& map, u32 mapped_barrier,
                                   const Coord& x) {
  static_assert(kRank == 2 || kRank == 4 || kRank == 5);
  emu::load_box_of_pair(target, map, mapped_barrier, x.c, kRank);
}

WGRAD_DEVICE void store_box(const TensorMap& map, u32 source, const Coord& x) {
  emu::store_box(map, source, x.c, 4, false);
}
WGRAD_DEVICE void add_box(const TensorMap& map, u32 source, const Coord& x) {
  emu::store_box(map, source, x.c, 4, true);
}
WGRAD_DEVICE void prefetch_box(const TensorMap& map, const Coord& x) {
  emu::prefetch_box(map, x.c, 4);
}
WGRAD_DEVICE void commit_stores() {
  emu::commit_stores();
}
template <u32 kPending>
WGRAD_DEVICE void wait_stores_read() {
  emu::wait_stores(kPending, true);
}
WGRAD_DEVICE void wait_stores() {
  emu::wait_stores(0, false);
}

}  // namespace wgrad::device::arch
