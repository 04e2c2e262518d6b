// The grouped wgrad kernel of SM 10.0 and 10.3: persistent and warp-specialised. One thread
// schedules, one drives the copy engine (ragged K-major operands: a warpgroup copies), one
// multiplies with tcgen05.mma into tensor memory, four warps write finished tiles out; with a
// K-major operand four more put its stages right before they are multiplied. Two CTAs may multiply
// together. Launch: threads_per_cta(kConfig) threads, smem_table(kConfig).total bytes of dynamic
// shared memory, grid_ctas(...) CTAs in clusters of cluster_ctas(kConfig).
//
// Not run on silicon: emulated, and compiled for sm_100a and sm_103a.
#pragma once

#include "wgrad/common/producer.cuh"
#include "wgrad/common/setup.cuh"
#include "wgrad/sm100/epilogue.cuh"
#include "wgrad/sm100/multiplier.cuh"
#include "wgrad/sm100/preparation.cuh"
#include "wgrad/sm100/smem.hpp"

namespace wgrad::device {

template <shared::sm100::Config kConfig>
WGRAD_DEVICE void multiply_tiles(const Cta<kConfig>& cta, u32 memory) {
  if (arch::elect_one()) {
    Multiplier<kConfig>{.cta = cta,
                        .pipeline = {.base = cta.smem},
                        .accumulators = {.base = cta.smem, .memory = memory},
                        .queue = {.base = cta.smem}}
        .run();
  }
  arch::warp_sync();
}

template <shared::sm100::Config kConfig>
WGRAD_DEVICE void prepare_stages(const Cta<kConfig>& cta, u32 thread) {
  if constexpr (prepares_stages(kConfig)) {
    Preparation<kConfig>{
        .cta = cta, .pipeline = {.base = cta.smem}, .thread = thread, .queue = {.base = cta.smem}}
        .run();
  }
}

template <shared::sm100::Config kConfig>
WGRAD_DEVICE void run_role(const Cta<kConfig>& cta, u32 memory, u32 warp) {
  namespace roles = shared::sm100;
  const u32 thread = arch::thread_index();
  if (warp < roles::kFirstEpilogueWarp) {
    produce<WholeTile>(cta, LoaderThread{thread});
  } else if (warp < roles::kMultiplierWarp) {
    write_tiles(cta, memory, warp - roles::kFirstEpilogueWarp);
  } else if (warp == roles::kMultiplierWarp) {
    multiply_tiles(cta, memory);
  } else {
    prepare_stages(cta, thread - roles::kFirstPreparationWarp * 32);
  }
}

template <shared::sm100::Config kConfig>
WGRAD_DEVICE void wgrad_sm100(const KernelParams& params) {
  static_assert(is_valid(kConfig), "no such tile, depth or cluster");
  static_assert(smem_table(kConfig).total <= shared::kMaxSharedBytes,
                "more shared memory than a CTA has");
  constexpr u32 kColumns = tensor_columns(kConfig), kCtas = u32(kConfig.cluster_m);
  const Cta<kConfig> cta(params);
  const u32 warp = arch::warp_uniform(arch::thread_index() / 32);
  const u32 slot = cta.smem + Accumulators<kConfig>::kMemory.at;
  if constexpr (kCtas == 2) arch::cluster_sync();  // the peer must run
  if (warp == shared::sm100::kMultiplierWarp) {
    arch::tensor_memory_alloc<kCtas>(slot, kColumns);
    arch::tensor_memory_relinquish<kCtas>();
  }
  arch::tcgen05_fence_before_sync();
  prepare(cta);
  arch::tcgen05_fence_after_sync();
  const u32 memory = arch::load_shared_u32(slot);
  run_role(cta, memory, warp);
  // Every access to tensor memory is over, and every arrival from the peer.
  arch::tcgen05_fence_before_sync();
  if constexpr (kCtas == 2) {
    arch::cluster_sync();
  } else {
    arch::cta_sync();
  }
  if (warp == shared::sm100::kMultiplierWarp) {
    arch::tcgen05_fence_after_sync();
    arch::tensor_memory_free<kCtas>(memory, kColumns);
  }
}

}  // namespace wgrad::device
