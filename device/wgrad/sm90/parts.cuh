// Where the CTAs of a cluster share a tile's tokens (split_k): each of them has a part of every sum
// of the tile. A box of the output belongs to one CTA; the others send it their parts, warp to
// warp, through distributed shared memory, and it adds them up in the order of the tokens.
//
// The parts lie in the operand stages: these are worth more in the main loop than loads for the
// next tile would be while parts are exchanged.
//
//   room: completes when no other CTA has a use for its stages. One arrival of each warp there.
//
//   full: completes when the parts of all other CTAs are there. One arrival of each warp there.
//
//   read: completes when this CTA's parts are read. One arrival of each math warp. As many of
//   them as the queue has entries: tiles without k blocks need no producer, who may be that late.
#pragma once

#include "wgrad/common/pipeline.cuh"
#include "wgrad/common/threads.cuh"
#include "wgrad/common/trace.cuh"
#include "wgrad/common/warp_arrival.cuh"
#include "wgrad/common/work.cuh"
#include "wgrad/sm90/accumulator.cuh"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::device {

template <auto kConfig>
struct Parts {
  static constexpr u32 kCtas = u32(kConfig.split_k);
  static constexpr bool kShared = kCtas > 1;
  static constexpr Place kPart = kShared ? place_of(kConfig, "part of a box") : Place{};
  static constexpr Place kFull = kShared ? place_of(kConfig, "parts full") : Place{};
  static constexpr Place kRoom = kShared ? place_of(kConfig, "parts room") : Place{};
  static constexpr Place kRead = kShared ? place_of(kConfig, "parts read") : Place{};
  static constexpr u32 kBoxes = u32(output_boxes(kConfig));  // of a warp's 16 rows
  static constexpr u32 kOwn = u32(boxes_per_cta(kConfig));
  static constexpr u32 kValues = kPart.bytes / 4 / 32;  // of one thread
  static constexpr u32 kMathThreads = u32(math_warps(kConfig)) * 32;

  u32 base = 0;  // start of dynamic shared memory
  MathWarp warp{};
  u32 rank = 0;  // of the CTA in its cluster
  u32 tile = 0;  // of this CTA

  WGRAD_DEVICE u32 parity() const { return tile & 1; }
  WGRAD_DEVICE u32 full() const { return base + kFull.at + u32(warp) * kBarrierBytes; }
  WGRAD_DEVICE u32 room() const { return base + kRoom.at + u32(warp) * kBarrierBytes; }
  WGRAD_DEVICE u32 read() const { return base + kRead.at + tile % kWorkSlots * kBarrierBytes; }
  // Where this thread's part of box `box`, from the `other`-th of the other CTAs, lies.
  WGRAD_DEVICE u32 part(u32 box, u32 other) const {
    return base + kPart.at + ((u32(warp) * kOwn + box % kOwn) * (kCtas - 1) + other) * kPart.bytes +
           arch::lane_index() * 16;
  }

  WGRAD_DEVICE static u32 among_others(u32 cta, u32 owner) { return cta - (cta > owner ? 1 : 0); }

  // Boxes of a band that this CTA writes: [first_own, first_own + kOwn).
  WGRAD_DEVICE i32 first_own() const { return kShared ? i32(rank * kOwn) : 0; }
  WGRAD_DEVICE bool owns(i32 box) const {
    return !kShared || (box >= first_own() && box < first_own() + i32(kOwn));
  }

  // All lanes, for all that they have done.
  WGRAD_DEVICE void arrive_at_the_others(u32 barrier) const {
    arrive_together_at_the_others(barrier, kCtas, rank);
  }

  template <u32 kBox, u32 kCount>
  WGRAD_DEVICE void send_box(const float (&d)[kCount]) const {
    constexpr u32 kOwner = kBox / kOwn;
    const u32 to = arch::map_to_rank(part(kBox, among_others(rank, kOwner)), kOwner);
#pragma unroll
    for (u32 i = 0; i < kValues; i += 4) {
      const u32 at_d = kBox * kValues + i;
      arch::store_shared_cluster(to + i / 4 * 512,
                                 {{d[at_d], d[at_d + 1], d[at_d + 2], d[at_d + 3]}});
    }
  }

  // In the order of the ranks, whoever owns the box.
  template <u32 kBox, u32 kCount>
  WGRAD_DEVICE void add_box(float (&d)[kCount]) const {
#pragma unroll
    for (u32 i = 0; i < kValues; i += 4) {
      const u32 at_d = kBox * kValues + i;
      float sum[4] = {};
#pragma unroll
      for (u32 cta = 0; cta < kCtas; ++cta) {
        arch::Quad x{{d[at_d], d[at_d + 1], d[at_d + 2], d[at_d + 3]}};
        if (cta != rank)
          x = arch::load_shared_quad(part(kBox, among_others(cta, rank)) + i / 4 * 512);
#pragma unroll
        for (u32 j = 0; j < 4; ++j) sum[j] = cta == 0 ? x.value[j] : sum[j] + x.value[j];
      }
#pragma unroll
      for (u32 j = 0; j < 4; ++j) d[at_d + j] = sum[j];
    }
  }

  template <u32 kBox, u32 kCount>
  WGRAD_DEVICE void send(const float (&d)[kCount], u32 boxes) const {
    if constexpr (kBox < kBoxes) {
      if (kBox < boxes && kBox / kOwn != rank) send_box<kBox>(d);
      send<kBox + 1>(d, boxes);
    }
  }
  template <u32 kBox, u32 kCount>
  WGRAD_DEVICE void add(float (&d)[kCount], u32 boxes) const {
    if constexpr (kBox < kBoxes) {
      if (kBox < boxes && kBox / kOwn == rank) add_box<kBox>(d);
      add<kBox + 1>(d, boxes);
    }
  }

  // All math threads, `meeting` at a named barrier once they have read their last stage: the sums
  // of the boxes that this CTA owns, of the first `boxes` of the tile.
  template <u32 kCount>
  WGRAD_DEVICE void exchange(float (&d)[kCount], u32 boxes, u32 meeting, Trace<kConfig>& trace) {
    trace.span(TraceKind::kWaitParts, 0, [&] {
      arch::named_sync(meeting, kMathThreads);
      arrive_at_the_others(room());
      arch::barrier_wait_acquire_cluster(room(), parity());
    });
    const u32 begin = trace.now();
    send<0>(d, boxes);
    arrive_at_the_others(full());
    trace.record(TraceKind::kSendParts, 0, begin);
    trace.span(TraceKind::kWaitParts, 1,
               [&] { arch::barrier_wait_acquire_cluster(full(), parity()); });
    add<0>(d, boxes);
    arch::fence_async_shared();
    arrive_together(read());
    ++tile;
  }

  // The producer, before it fills the stages for its next tile and lets go of the queue's entry.
  WGRAD_DEVICE void wait_read(Trace<kConfig>& trace) {
    if constexpr (kShared) {
      trace.span(TraceKind::kWaitParts, 2,
                 [&] { arch::barrier_wait(read(), tile / kWorkSlots & 1); });
      ++tile;
    }
  }
};

}  // namespace wgrad::device
