// The first launch of a call, of one CTA: the table of experts that all other CTAs look units up
// in, and a look at the offsets for faults. Offsets that decrease, are negative or exceed the
// tokens are clamped, so that no two experts share a token and scale columns stay within the
// tensor.
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/quantize/params.hpp"

namespace wgrad::device {

// What the experts up to one add up to.
struct ExpertSums {
  i32 end;  // largest so far
  i32 units;
  i32 cols;
};

struct ExpertTable {
  const QuantizeParams& p;
  u32 smem;

  static constexpr u32 kThreads = u32(kQuantizeThreads);

  WGRAD_DEVICE u64 entry(i32 expert) const {
    return p.table + sizeof(QuantizeExpert) * u64(expert);
  }
  WGRAD_DEVICE void store(i32 expert, const QuantizeExpert& e) const {
    arch::store_global(entry(expert),
                       {{u32(e.begin), u32(e.end), u32(e.first_unit), u32(e.first_col)}});
  }

  WGRAD_DEVICE void note(FaultKind kind, i32 expert, i64 value, i64 limit) const {
    if (p.fault == 0) return;
    if (arch::compare_and_swap_global(p.fault, i32(FaultKind::kNone), i32(kind)) !=
        i32(FaultKind::kNone))
      return;
    arch::store_global_i32(p.fault + 4, expert);
    arch::store_global_i64(p.fault + 8, value);
    arch::store_global_i64(p.fault + 16, limit);
  }

  WGRAD_DEVICE i32 offset(i32 expert) const {
    return expert < 0 ? 0 : arch::load_global_i32(p.offsets + 4 * u64(expert));
  }
  WGRAD_DEVICE i32 clamped_offset(i32 expert) const {
    if (expert >= p.experts) return 0;
    return i32(min_of(max_of(i64{offset(expert)}, i64{0}), p.tokens));
  }
  WGRAD_DEVICE void check_offset(i32 expert) const {
    const i32 end = offset(expert), previous = offset(expert - 1);
    if (end < 0) {
      note(FaultKind::kOffsetNegative, expert, end, 0);
    } else if (i64{end} > p.tokens) {
      note(FaultKind::kOffsetBeyond, expert, end, p.tokens);
    } else if (end < previous) {
      note(FaultKind::kOffsetDecreases, expert, end, previous);
    }
  }

  // Packed FP4: no expert may share a byte with another.
  WGRAD_DEVICE bool shares_bytes(i32 begin, i32 end) const {
    if (p.is_packed == 0 || begin == end) return false;
    return begin % 2 != 0 || (p.is_ragged != 0 && (end - begin) % 2 != 0);
  }

  // The threads' values scanned in their order: the largest, or the sum, up to each.
  template <bool kLargest>
  WGRAD_DEVICE i32 scanned(i32 value) const {
    const u32 thread = arch::thread_index();
    for (u32 apart = 1; apart < kThreads; apart *= 2) {
      arch::store_shared_u32(smem + 4 * thread, u32(value));
      arch::cta_sync();
      if (thread >= apart) {
        const i32 before = i32(arch::load_shared_u32(smem + 4 * (thread - apart)));
        value = kLargest ? max_of(value, before) : value + before;
      }
      arch::cta_sync();
    }
    return value;
  }
  // What the last thread has, and what the thread before this one has (`first` of the first).
  WGRAD_DEVICE i32 of_thread(i32 value, u32 thread) const {
    arch::store_shared_u32(smem + 4 * arch::thread_index(), u32(value));
    arch::cta_sync();
    const i32 out = i32(arch::load_shared_u32(smem + 4 * thread));
    arch::cta_sync();
    return out;
  }

  // kThreads experts from `first` on, behind those of `before`.
  WGRAD_DEVICE ExpertSums write_some(i32 first, const ExpertSums& before) const {
    const u32 thread = arch::thread_index();
    const i32 expert = first + i32(thread);
    const bool is_one = expert < p.experts;
    if (is_one) check_offset(expert);
    const i32 end = max_of(scanned<true>(clamped_offset(expert)), before.end);
    const i32 own_begin = of_thread(end, thread == 0 ? 0 : thread - 1);
    const i32 begin = thread == 0 ? before.end : own_begin;
    const bool is_shared = shares_bytes(begin, end);
    if (is_one && is_shared) note(FaultKind::kBeginOdd, expert, begin, 2);
    const i32 count = is_one && !is_shared ? end - begin : 0;
    i32 cols = ceil_div(count, p.vec_size);
    if (p.is_compact == 0) cols = round_up(cols, 4);
    const i32 units = ceil_div(count, kUnitTokens);
    const i32 units_up_to = before.units + scanned<false>(units);
    const i32 cols_up_to = before.cols + scanned<false>(cols);
    if (is_one) store(expert, {begin, begin + count, units_up_to - units, cols_up_to - cols});
    const u32 last = kThreads - 1;
    return {of_thread(end, last), of_thread(units_up_to, last), of_thread(cols_up_to, last)};
  }

  // What follows the experts.
  WGRAD_DEVICE void write_rest(const ExpertSums& all) const {
    const i32 begin = p.is_packed != 0 ? round_up(all.end, 2) : all.end;
    const i32 tokens = ceil_div(i32(p.tokens) - begin, kUnitTokens);
    const i32 cols = ceil_div(i32(p.scale_cols) - all.cols, kUnitTokens / p.vec_size);
    store(p.experts, {begin, i32(p.tokens), all.units, all.cols});
    store(p.experts + 1,
          {i32(p.tokens), i32(p.tokens), all.units + max_of(tokens, cols), all.cols});
  }

  WGRAD_DEVICE void clear_amax() const {
    for (i32 i = 0; i < p.operands; ++i) {
      const u64 amax = p.operand[i].amax;
      if (amax == 0) continue;
      for (i32 e = i32(arch::thread_index()); e < p.experts; e += i32(kThreads))
        arch::store_global_i32(amax + 4 * u64(e), 0);
    }
  }

  WGRAD_DEVICE void write() const {
    clear_amax();
    ExpertSums sums{0, 0, 0};
    for (i32 first = 0; first < p.experts; first += i32(kThreads)) sums = write_some(first, sums);
    if (arch::thread_index() == 0) write_rest(sums);
  }
};

// Launch: one CTA of kQuantizeThreads threads, 4 * kQuantizeThreads bytes of shared memory.
WGRAD_DEVICE void wgrad_quantize_table(const QuantizeParams& params) {
  ExpertTable{params, arch::shared_base()}.write();
}

}  // namespace wgrad::device
