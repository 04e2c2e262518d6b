// The Hopper grouped wgrad kernel: persistent and warp-specialised. One thread schedules: it claims
// tiles and tells the others of them. One producer warpgroup fills operand stages by the copy
// engine (or, for ragged K-major operands, by copies of its threads); two math warpgroups multiply
// them with wgmma and drain their tiles through an output ring. Launch: threads_per_cta(kConfig)
// threads, smem_table(kConfig).total bytes of dynamic shared memory, grid_ctas(...) CTAs in
// clusters of cluster_ctas(kConfig).
#pragma once

#include "wgrad/common/producer.cuh"
#include "wgrad/common/setup.cuh"
#include "wgrad/sm90/consumer.cuh"

namespace wgrad::device {

// Registers a thread of each role gets, multiples of 8: 128 * (producer + 2 * math) <= 64 K.
template <Config kConfig>
inline constexpr bool kBusyProducer = uses_loader(kConfig) || kConfig.workspace_split;
template <Config kConfig>
inline constexpr u32 kProducerRegisters = kBusyProducer<kConfig> ? 56 : 40;
template <Config kConfig>
inline constexpr u32 kMathRegisters = kBusyProducer<kConfig> ? 224 : 232;

template <Config kConfig>
WGRAD_DEVICE void wgrad_sm90(const KernelParams& params) {
  static_assert(is_valid(kConfig), "no such tile, depth or cluster");
  static_assert(smem_table(kConfig).total <= kMaxSharedBytes, "more shared memory than a CTA has");
  const Cta<kConfig> cta(params);
  prepare(cta);
  const u32 thread = arch::thread_index();
  if (arch::warp_uniform(thread / kWarpgroupThreads) == 0) {
    arch::release_registers<kProducerRegisters<kConfig>>();
    produce<Parts<kConfig>>(cta, LoaderThread{thread});
  } else {
    arch::claim_registers<kMathRegisters<kConfig>>();
    consume(cta, MathThread{thread - kWarpgroupThreads});
  }
  // Others of the cluster may still send to, or arrive at, this CTA's shared memory.
  if constexpr (reaches_other_ctas(kConfig)) arch::cluster_sync();
}

}  // namespace wgrad::device
