// The kernel of SM 10.0 and 10.3 for block-scaled operands: persistent and warp-specialised. One
// thread schedules, one drives the copy engine; with a K-major operand, or compact scale factors,
// two warps copy what no tensor map describes, and four put K-major stages right. One thread copies
// scale factors into tensor memory and multiplies with tcgen05.mma; four warps write finished tiles
// out. Launch: threads_per_cta(kConfig) threads, smem_table(kConfig).total bytes of dynamic shared
// memory, grid_ctas(...) CTAs.
//
// Not run on silicon: emulated, and compiled for sm_100a and sm_103a.
#pragma once

#include "wgrad/common/setup.cuh"
#include "wgrad/sm100/epilogue.cuh"
#include "wgrad/sm100_scaled/multiplier.cuh"
#include "wgrad/sm100_scaled/preparation.cuh"
#include "wgrad/sm100_scaled/producer.cuh"

namespace wgrad::device {

template <shared::sm100_scaled::Config kConfig>
WGRAD_DEVICE void run_scaled_role(const Cta<kConfig>& cta, u32 memory, u32 warp) {
  namespace roles = shared::sm100_scaled::roles;
  const u32 thread = arch::thread_index();
  if (warp < roles::kFirstEpilogue) {
    produce_stages(cta, warp, thread);
  } else if (warp < roles::kMultiplier) {
    write_tiles(cta, memory, warp - roles::kFirstEpilogue);
  } else if (warp == roles::kMultiplier) {
    if (arch::elect_one()) {
      ScaledMultiplier<kConfig>{.cta = cta,
                                .stages = {{.base = cta.smem}},
                                .accumulators = {.base = cta.smem, .memory = memory},
                                .queue = {.base = cta.smem}}
          .run();
    }
    arch::warp_sync();
  } else if constexpr (prepares_stages(kConfig)) {
    ScaledPreparation<kConfig>{.cta = cta,
                               .stages = {{.base = cta.smem}},
                               .thread = thread - roles::kFirstPreparation * 32,
                               .queue = {.base = cta.smem}}
        .run();
  }
}

// All threads: where the experts' scale factors begin; then the roles may part.
template <shared::sm100_scaled::Config kConfig>
WGRAD_DEVICE void prepare_scaled_roles(const Cta<kConfig>& cta) {
  prepare(cta);
  write_checkpoints(cta);
  arch::cta_sync();
  check_scaled_data(cta);
}

template <shared::sm100_scaled::Config kConfig>
WGRAD_DEVICE void wgrad_sm100_scaled(const ScaledParams& params) {
  static_assert(is_valid(kConfig), "no such format, tile or depth");
  static_assert(smem_table(kConfig).total <= shared::kMaxSharedBytes,
                "more shared memory than a CTA has");
  constexpr u32 kColumns = shared::sm100_scaled::kScaledTensorColumns;
  constexpr u32 kAllocator = shared::sm100_scaled::roles::kMultiplier;
  const Cta<kConfig> cta(params);
  const u32 warp = arch::warp_uniform(arch::thread_index() / 32);
  const u32 slot = cta.smem + Accumulators<kConfig>::kMemory.at;
  if (warp == kAllocator) {
    arch::tensor_memory_alloc<1>(slot, kColumns);
    arch::tensor_memory_relinquish<1>();
  }
  arch::tcgen05_fence_before_sync();
  prepare_scaled_roles(cta);
  arch::tcgen05_fence_after_sync();
  const u32 memory = arch::load_shared_u32(slot);
  run_scaled_role(cta, memory, warp);
  // Every access to tensor memory is over.
  arch::tcgen05_fence_before_sync();
  arch::cta_sync();
  if (warp == kAllocator) {
    arch::tcgen05_fence_after_sync();
    arch::tensor_memory_free<1>(memory, kColumns);
  }
}

}  // namespace wgrad::device
