// Before the roles part: barriers, the order of the experts, and a look at the device data for
// faults.
#pragma once

#include "wgrad/common/work_queue.cuh"
#include "wgrad/shared/token_split.hpp"

namespace wgrad::device {

// Keys of the sort lie in the operand stages, which nothing has been loaded into yet.
template <KernelConfig auto kConfig>
WGRAD_DEVICE void write_order_keys(const Cta<kConfig>& cta) {
  const u32 padded = round_up(u32(cta.params.experts), 4u);
  for (u32 e = arch::thread_index(); e < padded; e += arch::thread_count()) {
    u32 tokens = 0;
    if (e < u32(cta.params.experts)) {
      const TokenRange range = expert_tokens(cta.params, i32(e));
      tokens = u32(range.end - range.begin);
    }
    arch::store_shared_u32(cta.smem + 4 * e, tokens);
  }
}

// How many experts go before this one: more tokens first, then the lower index.
WGRAD_DEVICE u32 rank_of(u32 keys, u32 expert, u32 experts) {
  const u32 own = arch::load_shared_u32(keys + 4 * expert);
  u32 rank = 0;
  for (u32 first = 0; first < experts; first += 4) {
    const arch::Chunk other = arch::load_shared(keys + 4 * first);
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
      rank += other.word[i] > own || (other.word[i] == own && first + i < expert) ? 1 : 0;
    }
  }
  return rank;
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE u32 split_mark(const Cta<kConfig>& cta, u32 expert) {
  if constexpr (!splits_in_workspace(kConfig)) return 0;
  const u32 tokens = arch::load_shared_u32(cta.smem + 4 * expert);
  return token_parts(cta.params.token_split, tokens) > 1 ? kSplitExpert : 0;
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE void order_experts(const Cta<kConfig>& cta) {
  if (!cta.is_ordered()) return;
  const u32 experts = u32(cta.params.experts);
  write_order_keys(cta);
  arch::cta_sync();
  for (u32 e = arch::thread_index(); e < experts; e += arch::thread_count()) {
    arch::store_shared_u16(cta.order_entry(rank_of(cta.smem, e, experts)), e | split_mark(cta, e));
  }
}

WGRAD_DEVICE void record_fault(const KernelParams& p, FaultKind kind, i32 expert, i64 value,
                               i64 limit) {
  if (p.fault == 0) return;
  if (arch::compare_and_swap_global(p.fault, i32(FaultKind::kNone), i32(kind)) !=
      i32(FaultKind::kNone))
    return;
  arch::store_global_i32(p.fault + 4, expert);
  arch::store_global_i64(p.fault + 8, value);
  arch::store_global_i64(p.fault + 16, limit);
}

WGRAD_DEVICE void check_offset(const KernelParams& p, i32 expert) {
  const i32 end = arch::load_global_i32(p.offsets + 4 * u64(expert));
  const i32 previous = expert == 0 ? 0 : arch::load_global_i32(p.offsets + 4 * u64(expert - 1));
  if (end < 0) {
    record_fault(p, FaultKind::kOffsetNegative, expert, end, 0);
  } else if (i64{end} > p.tokens) {
    record_fault(p, FaultKind::kOffsetBeyond, expert, end, p.tokens);
  } else if (end < previous) {
    record_fault(p, FaultKind::kOffsetDecreases, expert, end, previous);
  }
}

WGRAD_DEVICE void check_pointer(const KernelParams& p, i32 expert) {
  const u64 address = arch::load_global_u64(p.wgrad_ptrs + 8 * u64(expert));
  if (address == 0) {
    record_fault(p, FaultKind::kPointerNull, expert, 0, 0);
  } else if (address % 16 != 0) {
    record_fault(p, FaultKind::kPointerAlignment, expert, i64(address), 16);
  }
}

// One CTA looks at all experts; the walk itself clamps and skips whatever it finds.
template <KernelConfig auto kConfig>
WGRAD_DEVICE void check_data(const Cta<kConfig>& cta) {
  if (arch::block_index() != 0 || cta.params.fault == 0) return;
  for (u32 e = arch::thread_index(); e < u32(cta.params.experts); e += arch::thread_count()) {
    check_offset(cta.params, i32(e));
    if constexpr (kConfig.output_mode == OutputMode::kDiscrete) check_pointer(cta.params, i32(e));
  }
}

// One thread: the barriers of row kRow of the table and of the rows after it. Two rows of as many
// barriers, full and empty ones, are made together.
template <KernelConfig auto kConfig, u32 kRow = 0>
WGRAD_DEVICE void init_barriers(u32 smem) {
  constexpr SmemTable kSmem = smem_table(kConfig);
  if constexpr (kRow < kSmem.count && kSmem.region[kRow].kind != RegionKind::kBarrier) {
    init_barriers<kConfig, kRow + 1>(smem);
  } else if constexpr (kRow < kSmem.count) {
    constexpr SmemRegion kOne = kSmem.region[kRow], kNext = kSmem.region[kRow + 1];
    constexpr bool kPair = kNext.kind == RegionKind::kBarrier && kNext.count == kOne.count;
    for (u32 i = 0; i < kOne.count; ++i) {
      arch::barrier_init(smem + kOne.at + i * kBarrierBytes, kOne.arrivals);
      if constexpr (kPair) arch::barrier_init(smem + kNext.at + i * kBarrierBytes, kNext.arrivals);
    }
    init_barriers<kConfig, kRow + (kPair ? 2 : 1)>(smem);
  }
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE void prefetch_maps(const KernelParams& p) {
  if constexpr (kConfig.a != OperandLayout::kKMajorRagged) arch::prefetch_map(p.map_a);
  if constexpr (kConfig.b != OperandLayout::kKMajorRagged) arch::prefetch_map(p.map_b);
  arch::prefetch_map(p.map_out);
}

// All threads. What needs no global memory comes first: it may run beside the end of the launch
// before. Afterwards the stages are free for the copy engine, also that of the others of the
// cluster.
template <KernelConfig auto kConfig>
WGRAD_DEVICE void prepare(const Cta<kConfig>& cta) {
  if (arch::thread_index() == 0) {
    prefetch_maps<kConfig>(cta.params);
    init_barriers<kConfig>(cta.smem);
    arch::barrier_init_fence();
  }
  arch::grid_dependency_wait();
  check_data(cta);
  order_experts(cta);
  arch::fence_async_shared();
  if constexpr (reaches_other_ctas(kConfig)) {
    arch::cluster_sync();
  } else {
    arch::cta_sync();
  }
}

}  // namespace wgrad::device
