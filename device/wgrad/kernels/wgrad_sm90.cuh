// The Hopper grouped wgrad kernel: persistent and warp-specialised. One producer warpgroup fills
// operand stages by the copy engine (or, for ragged K-major operands, by ordinary loads); two math
// warpgroups multiply them with wgmma and drain their tiles through an output ring. Launch:
// threads_per_cta(kConfig) threads, smem_layout(kConfig).total bytes of dynamic shared memory,
// grid_ctas(...) CTAs in clusters of kConfig.cluster_m.
#pragma once

#include "wgrad/kernels/consumer.cuh"
#include "wgrad/kernels/producer.cuh"
#include "wgrad/kernels/setup.cuh"

namespace wgrad::device {

// Register shares, multiples of 8: 128 * (producer + 2 * math) <= 64 K.
inline constexpr u32 kCopyRegisters = 40, kCopyMathRegisters = 232;
inline constexpr u32 kLoaderRegisters = 56, kLoaderMathRegisters = 224;

template <Config kConfig>
WGRAD_DEVICE void wgrad_sm90(const KernelParams& params) {
  static_assert(is_valid(kConfig), "no such tile, depth or cluster");
  static_assert(smem_layout(kConfig).total <= kMaxSharedBytes, "more shared memory than a CTA has");
  constexpr bool kLoader = uses_loader(kConfig);
  const Cta<kConfig> cta(params);
  prepare(cta);
  const u32 thread = arch::thread_index();
  if (arch::warp_uniform(thread / kWarpgroupThreads) == 0) {
    arch::release_registers<kLoader ? kLoaderRegisters : kCopyRegisters>();
    produce(cta, thread);
  } else {
    arch::claim_registers<kLoader ? kLoaderMathRegisters : kCopyMathRegisters>();
    consume(cta, thread - kWarpgroupThreads);
  }
  // The other CTA may still send to, or arrive at, this one's shared memory.
  if constexpr (uses_multicast(kConfig)) arch::cluster_sync();
}

}  // namespace wgrad::device
