// Boxes of a tensor map into shared memory. PTX: "cp.async.bulk.tensor" (global to
// shared::cluster), "prefetch.tensormap". Completion counts bytes on `barrier`. Boxes may leave the
// tensor: zero filled, and counted in full.
#pragma once

namespace wgrad::device::arch {

struct Coord {
  i32 c[5];
};

WGRAD_DEVICE void prefetch_map(const TensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

#define WGRAD_TMA_LOAD "cp.async.bulk.tensor."
#define WGRAD_TMA_TO ".shared::cluster.global.mbarrier::complete_tx::bytes"

// kRank 2, 4 or 5: the map's rank.
template <u32 kRank>
WGRAD_DEVICE void load_box(u32 target, const TensorMap& map, u32 barrier, const Coord& x) {
  static_assert(kRank == 2 || kRank == 4 || kRank == 5);
  if constexpr (kRank == 2) {
    asm volatile(WGRAD_TMA_LOAD "2d" WGRAD_TMA_TO " [%0], [%1, {%3, %4}], [%2];" ::"r"(target),
                 "l"(&map), "r"(barrier), "r"(x.c[0]), "r"(x.c[1])
                 : "memory");
  } else if constexpr (kRank == 4) {
    asm volatile(WGRAD_TMA_LOAD "4d" WGRAD_TMA_TO
                                " [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(target),
                 "l"(&map), "r"(barrier), "r"(x.c[0]), "r"(x.c[1]), "r"(x.c[2]), "r"(x.c[3])
                 : "memory");
  } else {
    asm volatile(
        WGRAD_TMA_LOAD "5d" WGRAD_TMA_TO " [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(target),
        "l"(&map), "r"(barrier), "r"(x.c[0]), "r"(x.c[1]), "r"(x.c[2]), "r"(x.c[3]), "r"(x.c[4])
        : "memory");
  }
}

// `bytes` from global memory, all three a multiple of 16. PTX: "cp.async.bulk".
WGRAD_DEVICE void load_bytes(u32 target, u64 source, u32 bytes, u32 barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(target),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

// The same box into the same offsets of every CTA of `cta_mask`, signalling each one's own barrier.
template <u32 kRank>
WGRAD_DEVICE void load_box_multicast(u32 target, const TensorMap& map, u32 barrier, const Coord& x,
                                     u16 cta_mask) {
  static_assert(kRank == 2 || kRank == 4 || kRank == 5);
  if constexpr (kRank == 2) {
    asm volatile(WGRAD_TMA_LOAD "2d" WGRAD_TMA_TO
                                ".multicast::cluster [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(target),
                 "l"(&map), "r"(barrier), "r"(x.c[0]), "r"(x.c[1]), "h"(cta_mask)
                 : "memory");
  } else if constexpr (kRank == 4) {
    asm volatile(
        WGRAD_TMA_LOAD "4d" WGRAD_TMA_TO
                       ".multicast::cluster [%0], [%1, {%3, %4, %5, %6}], [%2], %7;" ::"r"(target),
        "l"(&map), "r"(barrier), "r"(x.c[0]), "r"(x.c[1]), "r"(x.c[2]), "r"(x.c[3]), "h"(cta_mask)
        : "memory");
  } else {
    asm volatile(WGRAD_TMA_LOAD
                 "5d" WGRAD_TMA_TO
                 ".multicast::cluster [%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(target),
                 "l"(&map), "r"(barrier), "r"(x.c[0]), "r"(x.c[1]), "r"(x.c[2]), "r"(x.c[3]),
                 "r"(x.c[4]), "h"(cta_mask)
                 : "memory");
  }
}

// For a pair of CTAs (cta_group::2): into this CTA's memory, counted on `mapped_barrier`, an
// address from map_to_rank in this CTA or its peer. SM 10.0.
template <u32 kRank>
WGRAD_DEVICE void load_box_of_pair(u32 target, const TensorMap& map, u32 mapped_barrier,
                                   const Coord& x) {
  static_assert(kRank == 2 || kRank == 4 || kRank == 5);
  if constexpr (kRank == 2) {
    asm volatile(WGRAD_TMA_LOAD "2d" WGRAD_TMA_TO
                                ".cta_group::2 [%0], [%1, {%3, %4}], [%2];" ::"r"(target),
                 "l"(&map), "r"(mapped_barrier), "r"(x.c[0]), "r"(x.c[1])
                 : "memory");
  } else if constexpr (kRank == 4) {
    asm volatile(WGRAD_TMA_LOAD "4d" WGRAD_TMA_TO
                                ".cta_group::2 [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(target),
                 "l"(&map), "r"(mapped_barrier), "r"(x.c[0]), "r"(x.c[1]), "r"(x.c[2]), "r"(x.c[3])
                 : "memory");
  } else {
    asm volatile(WGRAD_TMA_LOAD
                 "5d" WGRAD_TMA_TO
                 ".cta_group::2 [%0], [%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(target),
                 "l"(&map), "r"(mapped_barrier), "r"(x.c[0]), "r"(x.c[1]), "r"(x.c[2]), "r"(x.c[3]),
                 "r"(x.c[4])
                 : "memory");
  }
}

#undef WGRAD_TMA_LOAD
#undef WGRAD_TMA_TO

}  // namespace wgrad::device::arch
