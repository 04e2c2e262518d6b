// The accumulators of a CTA: tiles of 128 lanes x tile_n columns in tensor memory, one behind the
// other, that the multiplier fills and the epilogue empties in turn: two, or one where there is no
// room for more. A tile without k blocks takes none.
//
//   full[i]: completes when every product of the tile is in. One arrival, of the multiplier's
//   commit.
//
//   empty[i]: completes when the tile is read. One arrival of each epilogue warp; a pair's all
//   arrive in the first CTA, whose thread multiplies.
#pragma once

#include "wgrad/common/pipeline.cuh"
#include "wgrad/shared/smem_table.hpp"

namespace wgrad::device {

template <auto kConfig>
struct Accumulators {
  static constexpr u32 kCount = u32(accumulators(kConfig));
  static constexpr Place kFull = place_of(kConfig, "accumulator full");
  static constexpr Place kEmpty = place_of(kConfig, "accumulator empty");
  static constexpr Place kMemory = place_of(kConfig, "tensor memory");

  u32 base = 0;    // start of dynamic shared memory
  u32 memory = 0;  // of tensor memory
  RingCursor<kCount> at{};

  WGRAD_DEVICE u32 tile() const { return memory + at.slot * u32(kConfig.tile_n); }
  WGRAD_DEVICE u32 full() const { return base + kFull.at + at.slot * kBarrierBytes; }
  WGRAD_DEVICE u32 empty() const { return base + kEmpty.at + at.slot * kBarrierBytes; }

  // The multiplier, before the tile's first product.
  WGRAD_DEVICE void wait_empty() const {
    arch::barrier_wait(empty(), at.parity ^ 1);  // the first pass finds both empty
    arch::tcgen05_fence_after_sync();
  }
  // An epilogue warp, before it reads.
  WGRAD_DEVICE void wait_full() const {
    arch::barrier_wait(full(), at.parity);
    arch::tcgen05_fence_after_sync();
  }
  // An epilogue warp: all lanes, once their loads are complete.
  WGRAD_DEVICE void release() const {
    arch::tcgen05_fence_before_sync();
    arch::warp_sync();
    if (arch::lane_index() != 0) return;
    if constexpr (multiplies_in_pairs(kConfig)) {
      arch::barrier_arrive_cluster(arch::map_to_rank(empty(), 0));
    } else {
      arch::barrier_arrive(empty());
    }
  }
};

}  // namespace wgrad::device
