// The Hopper kernel that multiplies FP8 operands as they are: persistent and warp-specialised, with
// the 16-bit kernel's scheduler, producer and epilogue. Launch: threads_per_cta(kConfig) threads,
// smem_table(kConfig).total bytes of dynamic shared memory, grid_ctas(...) CTAs in clusters of
// cluster_ctas(kConfig).
#pragma once

#include "wgrad/common/producer.cuh"
#include "wgrad/common/setup.cuh"
#include "wgrad/sm90_fp8/consumer.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
WGRAD_DEVICE void wgrad_sm90_fp8(const Fp8Params& params) {
  static_assert(is_valid(kConfig), "no such tile, depth or cluster");
  static_assert(smem_table(kConfig).total <= kMaxSharedBytes, "more shared memory than a CTA has");
  // Registers a thread of each role gets, multiples of 8: 128 * (producer + 2 * math) <= 64 K.
  constexpr u32 kProducerRegisters = uses_loader(kConfig) ? 56 : 40;
  constexpr u32 kMathRegisters = uses_loader(kConfig) ? 224 : 232;
  const Cta<kConfig> cta(params);
  prepare(cta);
  const u32 thread = arch::thread_index();
  if (arch::warp_uniform(thread / kWarpgroupThreads) == 0) {
    arch::release_registers<kProducerRegisters>();
    produce<WholeTile>(cta, LoaderThread{thread});
  } else {
    arch::claim_registers<kMathRegisters>();
    consume_fp8(cta, MathThread{thread - kWarpgroupThreads});
  }
  // Others of the cluster may still send to, or arrive at, this CTA's shared memory.
  if constexpr (reaches_other_ctas(kConfig)) arch::cluster_sync();
}

}  // namespace wgrad::device
