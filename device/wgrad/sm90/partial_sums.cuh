// Where the parts of a tile's tokens are work of their own (Config::workspace_split): their sums
// meet in the workspace, each math warp's for itself. Two by two, as in a tree over the parts: who
// comes first leaves its sums there, who comes second adds them to its own and goes on. So nobody
// waits, and what is added to what follows the number of parts alone.
#pragma once

#include "wgrad/common/threads.cuh"
#include "wgrad/common/token_parts.cuh"
#include "wgrad/sm90/accumulator.cuh"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::device {

template <auto kConfig>
struct PartialSums {
  static constexpr u32 kGroups = u32(kConfig.tile_n) / Fragment::kColumns;
  static constexpr u32 kGroupBytes = 32 * 16;         // four values of each lane
  static constexpr u32 kBatch = min_of(kGroups, 8u);  // loads in flight
  static constexpr u32 kMeetingBits = 4;              // of a warp in a counter

  const KernelParams& params;
  u32 base;  // start of dynamic shared memory
  MathWarp warp;

  // This lane's sums of a part.
  WGRAD_DEVICE u64 sums(const TokenPart& part, u32 index) const {
    const u64 number = part.set * params.token_split.most + index;
    return params.partial_sums + sum_counters_bytes(kConfig, params.token_split) +
           number * part_sums_bytes(kConfig) + u32(warp) * kGroups * kGroupBytes +
           arch::lane_index() * 16;
  }

  template <u32 kCount>
  WGRAD_DEVICE static void leave_sums(u64 address, const float (&d)[kCount], u32 groups) {
#pragma unroll
    for (u32 g = 0; g < kGroups; ++g) {
      if (g < groups)
        arch::store_global_quad(address + u64{g} * kGroupBytes,
                                {{d[4 * g], d[4 * g + 1], d[4 * g + 2], d[4 * g + 3]}});
    }
  }

  template <u32 kCount>
  WGRAD_DEVICE static void add_sums(u64 address, float (&d)[kCount], u32 groups) {
#pragma unroll
    for (u32 first = 0; first < kGroups; first += kBatch) {
      if (first >= groups) break;
      arch::Quad there[kBatch];
#pragma unroll
      for (u32 g = 0; g < kBatch; ++g)
        there[g] = arch::load_global_quad(address + u64{first + g} * kGroupBytes);
#pragma unroll
      for (u32 g = 0; g < kBatch; ++g) {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) d[4 * (first + g) + i] += there[g].value[i];
      }
    }
  }

  // How many of the two have come, this warp left out; all lanes then know what they did.
  WGRAD_DEVICE u32 of_this_warp(u32 counter) const {
    arch::warp_sync();
    return arch::warp_uniform(counter) >> (kMeetingBits * u32(warp)) & 3;
  }
  WGRAD_DEVICE u32 arrived(u64 counter) const {
    return of_this_warp(arch::lane_index() == 0 ? arch::load_global_acquire_u32(counter) : 0);
  }
  WGRAD_DEVICE u32 arrive(u64 counter) const {
    arch::warp_sync();
    const u32 one = 1u << (kMeetingBits * u32(warp));
    return of_this_warp(arch::lane_index() == 0 ? arch::add_global_release_u32(counter, one) : 0);
  }
  WGRAD_DEVICE void forget(u64 counter, u32 arrivals) const {
    if (arch::lane_index() == 0)
      arch::add_global_u32(counter, 0u - (arrivals << (kMeetingBits * u32(warp))));
  }

  // All lanes: adds the sums of the other parts of the tile to this part's, in the first `groups`
  // groups of columns. False: another CTA does what is left to do.
  template <u32 kCount>
  WGRAD_DEVICE bool combine(float (&d)[kCount], const TokenPart& part, u32 groups) const {
    if (part.count == 1) return true;
    arch::barrier_wait_acquire_cluster(base + TokenParts<kConfig, true>::kReady.at, 0);
    u32 own = part.index;  // the first of the parts that are summed here
    for (u32 step = 1; step < part.count; step *= 2) {
      const u32 right = own | step, other = own ^ step;
      if (right >= part.count) continue;
      const u64 counter = sum_counter(params, part.set, right);
      u32 arrivals = arrived(counter);
      if (arrivals == 0) {
        leave_sums(sums(part, own), d, groups);
        if (arrive(counter) == 0) return false;
        arrivals = 2;
      }
      forget(counter, arrivals);
      add_sums(sums(part, other), d, groups);
      own &= ~step;
    }
    arch::warp_sync();
    if (arch::lane_index() == 0) arch::add_global_release_u32(sum_counter(params, part.set, 0), 1);
    return true;
  }
};

}  // namespace wgrad::device
