// A stage's life where operands are decoded: raw (codes and scale factors, brought by the copy
// engine and by copier warps) -> decoded (16-bit, brought by the converters) ->
// multiplied. Raw and decoded stages are rings of their own, each with a pair of barriers.
//
//   raw_full[s]: codes and scale factors have landed. One arrival of the thread that drives the
//   copy engine, one of each copier warp.
//
//   range_known[s]: the range of its scale factors is known (scale_range.cuh). One arrival of the
//   warp that looks.
//
//   raw_empty[s]: nobody reads them any more. One arrival of each converter warp, and of each math
//   warp that decodes A.
//
//   full[s]: a decoded stage is written and fenced. One arrival of each converter warp.
//
//   empty[s]: it is multiplied. One arrival of each math warp.
#pragma once

#include "wgrad/common/pipeline.cuh"
#include "wgrad/common/scale_atoms.cuh"
#include "wgrad/common/warp_arrival.cuh"
#include "wgrad/sm90_scaled/smem.hpp"

namespace wgrad::device {

template <KernelConfig auto kConfig>
using RawCursor = RingCursor<static_cast<u32>(kConfig.raw_stages)>;

template <KernelConfig auto kConfig>
struct ScaledPipeline {
  static constexpr Place kRawFull = place_of(kConfig, "raw full");
  static constexpr Place kRawEmpty = place_of(kConfig, "raw empty");
  static constexpr Place kFull = place_of(kConfig, "full"), kEmpty = place_of(kConfig, "empty");
  static constexpr Place kRawA = place_of(kConfig, "raw a"), kRawB = place_of(kConfig, "raw b");
  static constexpr Place kScalesA = place_of(kConfig, "scales a");
  static constexpr Place kScalesB = place_of(kConfig, "scales b");
  static constexpr Place kA = place_of(kConfig, "decoded a"), kB = place_of(kConfig, "decoded b");
  static constexpr Place kFlags = kConfig.registers_a ? Place{} : place_of(kConfig, "flags");
  static constexpr Place kRangeKnown =
      checks_range(kConfig) ? place_of(kConfig, "range known") : Place{};
  static constexpr Place kRange = place_of(kConfig, "range");
  static constexpr Place kMultipliers = place_of(kConfig, "multipliers");

  u32 base;  // start of dynamic shared memory

  WGRAD_DEVICE u32 raw_full(u32 stage) const { return base + kRawFull.at + stage * kBarrierBytes; }
  WGRAD_DEVICE u32 raw_empty(u32 stage) const {
    return base + kRawEmpty.at + stage * kBarrierBytes;
  }
  WGRAD_DEVICE u32 full(u32 stage) const { return base + kFull.at + stage * kBarrierBytes; }
  WGRAD_DEVICE u32 empty(u32 stage) const { return base + kEmpty.at + stage * kBarrierBytes; }
  WGRAD_DEVICE u32 raw_a(u32 stage) const { return base + kRawA.at + stage * kRawA.bytes; }
  WGRAD_DEVICE u32 raw_b(u32 stage) const { return base + kRawB.at + stage * kRawB.bytes; }
  WGRAD_DEVICE u32 scales_a(u32 stage) const { return base + kScalesA.at + stage * kScalesA.bytes; }
  WGRAD_DEVICE u32 scales_b(u32 stage) const { return base + kScalesB.at + stage * kScalesB.bytes; }
  WGRAD_DEVICE u32 a(u32 stage) const { return base + kA.at + stage * kA.bytes; }
  WGRAD_DEVICE u32 b(u32 stage) const { return base + kB.at + stage * kB.bytes; }
  WGRAD_DEVICE u32 flags(u32 stage) const { return base + kFlags.at + stage * kFlags.bytes; }
  WGRAD_DEVICE u32 range_known(u32 stage) const {
    return base + kRangeKnown.at + stage * kBarrierBytes;
  }
  WGRAD_DEVICE u32 multipliers(u32 table) const {
    return base + kMultipliers.at + table * kMultipliers.bytes;
  }
  WGRAD_DEVICE u32 range(u32 stage) const { return base + kRange.at + stage * kRange.bytes; }

  // The first pass finds every stage empty.
  WGRAD_DEVICE void wait_raw_empty(const RawCursor<kConfig>& at) const {
    arch::barrier_wait(raw_empty(at.slot), at.parity ^ 1);
  }
  WGRAD_DEVICE void wait_raw_full(const RawCursor<kConfig>& at) const {
    arch::barrier_wait(raw_full(at.slot), at.parity);
  }
  WGRAD_DEVICE void wait_empty(const StageCursor<kConfig>& at) const {
    arch::barrier_wait(empty(at.slot), at.parity ^ 1);
  }
  WGRAD_DEVICE void wait_full(const StageCursor<kConfig>& at) const {
    arch::barrier_wait(full(at.slot), at.parity);
  }

  // A whole warp, once all its lanes have done what they had to.
  WGRAD_DEVICE void arrive_together(u32 barrier) const { device::arrive_together(barrier); }
};

}  // namespace wgrad::device
