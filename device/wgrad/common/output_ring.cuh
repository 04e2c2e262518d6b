// The output ring: each math warp writes boxes of its own 16 rows into its own slots; its first
// lane hands them to the copy engine and alone waits for its own bulk groups, so stores of one tile
// run under the next tile's main loop, and no warp waits for another
// (docs/notes/2026-11-29-a-warp-stores-alone.md).
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/common/pipeline.cuh"
#include "wgrad/common/threads.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
struct OutputRing {
  static constexpr Place kBox = place_of(kConfig, "output ring slot");
  static constexpr Place kReadback = place_of(kConfig, "readback");
  static constexpr u32 kSlots = static_cast<u32>(kConfig.ring_slots);

  u32 base;  // start of dynamic shared memory
  MathWarp warp;
  RingCursor<kSlots> at;

  WGRAD_DEVICE u32 box(u32 slot) const {
    return base + kBox.at + (u32(warp) * kSlots + slot) * kBox.bytes;
  }
  WGRAD_DEVICE u32 readback(u32 slot) const {
    return base + kReadback.at + (u32(warp) * kSlots + slot) * kBarrierBytes;
  }

  // All lanes: the current slot may be written. Leader: the lane that issues the stores.
  WGRAD_DEVICE void acquire(bool leader) const {
    if (leader) arch::wait_stores_read<kSlots - 1>();
    arch::warp_sync();
  }

  // All lanes, after writing the slot: hand it to the copy engine and move on.
  WGRAD_DEVICE void submit(bool leader, const TensorMap& map, const arch::Coord& x) {
    arch::fence_async_shared();
    arch::warp_sync();
    if (leader) {
      if constexpr (reduces_output(kConfig)) {
        arch::add_box(map, box(at.slot), x);
      } else {
        arch::store_box(map, box(at.slot), x);
      }
      arch::commit_stores();
    }
    at.advance();
  }

  // Leader, no store reading the slot: fetch the destination box into it (16-bit accumulate).
  WGRAD_DEVICE void fetch(u32 slot, const TensorMap& map, const arch::Coord& x) const {
    arch::barrier_arrive_expect(readback(slot), kBox.bytes);
    arch::load_box<4>(box(slot), map, readback(slot), x);
  }
  WGRAD_DEVICE void wait_fetched() const { arch::barrier_wait(readback(at.slot), at.parity); }
};

}  // namespace wgrad::device
