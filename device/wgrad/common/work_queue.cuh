// The tiles a CTA computes, in order: the scheduler writes entries, every role reads them.
#pragma once

#include "wgrad/common/pipeline.cuh"
#include "wgrad/common/warp_arrival.cuh"
#include "wgrad/common/work.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
struct WorkQueue {
  static constexpr bool kHasExtra = TileExtra<kConfig>::kAny;
  static constexpr Place kEntry = place_of(kConfig, "work entry");
  static constexpr Place kFull = place_of(kConfig, "work full");
  static constexpr Place kEmpty = place_of(kConfig, "work empty");

  u32 base = 0;  // start of dynamic shared memory
  RingCursor<kWorkSlots> at{};

  WGRAD_DEVICE u32 entry() const { return base + kEntry.at + at.slot * kWorkBytes; }
  WGRAD_DEVICE u32 full(u32 slot) const { return base + kFull.at + slot * kBarrierBytes; }
  WGRAD_DEVICE u32 empty(u32 slot) const { return base + kEmpty.at + slot * kBarrierBytes; }

  // The scheduler. `extra`: what TileExtra has to say, if anything.
  WGRAD_DEVICE void push(const Work& w, const arch::Chunk& extra = {}) {
    arch::barrier_wait(empty(at.slot), at.parity ^ 1);  // the first pass finds every slot empty
    arch::store_shared(entry(), {{u32(w.m0), u32(w.n0), u32(w.tokens.begin), u32(w.tokens.end)}});
    arch::store_shared(entry() + 16,
                       {{u32(w.blocks), w.position, u32(w.address), u32(w.address >> 32)}});
    if constexpr (kHasExtra) arch::store_shared(extra_entry(), extra);
    arch::barrier_arrive(full(at.slot));
    at.advance();
  }

  // The scheduler: until every role has read the entry before the one that was pushed last.
  WGRAD_DEVICE void wait_read_before_last() const {
    const u32 slot = (at.slot + kWorkSlots - 2) % kWorkSlots;
    const u32 parity = at.parity ^ (slot > at.slot ? 1 : 0);
    arch::barrier_wait(empty(slot), parity);
  }

  // A reader: waits for the current entry, which stays until it is let go.
  WGRAD_DEVICE u32 full() const { return full(at.slot); }
  WGRAD_DEVICE Work read() const {
    arch::barrier_wait(full(at.slot), at.parity);
    return read_again();
  }
  WGRAD_DEVICE Work read_again() const {
    const arch::Chunk place = arch::load_shared(entry()), what = arch::load_shared(entry() + 16);
    return {i32(place.word[0]), i32(place.word[1]), {i32(place.word[2]), i32(place.word[3])},
            i32(what.word[0]),  what.word[1],       u64{what.word[3]} << 32 | what.word[2]};
  }
  WGRAD_DEVICE u32 extra_entry() const {
    return base + TileExtra<kConfig>::kOffset + at.slot * TileExtra<kConfig>::kBytes;
  }
  // One thread that reads alone; all lanes of a warp that reads together.
  WGRAD_DEVICE void let_go() const { arch::barrier_arrive(empty(at.slot)); }
  WGRAD_DEVICE void let_go_together() const { arrive_together(empty(at.slot)); }
};

}  // namespace wgrad::device
