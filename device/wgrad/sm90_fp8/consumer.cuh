// A math warpgroup: multiplies stage after stage of FP8, into its accumulators or, 128 tokens at a
// time, into others whose sums it adds to these in FP32; then applies the scale factors and writes
// its part of the tile out.
#pragma once

#include "wgrad/common/align.cuh"
#include "wgrad/common/work_queue.cuh"
#include "wgrad/sm90/epilogue.cuh"
#include "wgrad/sm90/wgmma_tile.cuh"
#include "wgrad/sm90_fp8/row_scales.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig>
struct Fp8Consumer {
  static constexpr u32 kReaders = 2 * kWarpgroupThreads;
  static constexpr u32 kBothWarpgroups = 1;  // a named barrier
  static constexpr i32 kPrefetchLead = 2;    // k blocks before the end of the main loop
  static constexpr u32 kPartColumns = u32(part_columns(kConfig));
  static constexpr u32 kParts = u32(kConfig.tile_n) / kPartColumns;
  static constexpr u32 kPartBytes = kPartColumns * u32{kSwizzleBytes};  // rows of a stage of B
  using A = WgmmaTile<TileA<kConfig>, bits_of(kConfig.input)>;
  using B = WgmmaTile<TileB<kConfig>, bits_of(kConfig.input)>;
  using Part = float[kPartColumns / 2];

  const Cta<kConfig>& cta;
  Pipeline<kConfig> pipeline;
  Epilogue<kConfig> epilogue;
  WorkQueue<kConfig> queue;
  MathThread thread;
  u32 warpgroup;

  WGRAD_DEVICE static Part& part_of(Accumulators<kConfig>& d, u32 part) {
    return reinterpret_cast<Part&>(d.band[0][part * kPartColumns / 2]);
  }

  WGRAD_DEVICE static void clear(Part& sums) {
#pragma unroll
    for (u32 i = 0; i < kPartColumns / 2; ++i) sums[i] = 0.0f;
  }

  // 32 tokens.
  WGRAD_DEVICE void multiply_window(Part& d, u32 stage, u32 window, u32 part, u32 keep) const {
    const u64 a = A::descriptor(pipeline.a(stage) + warpgroup * A::kBandBytes + window * 32);
    const u64 b = B::descriptor(pipeline.b(stage) + part * kPartBytes + window * 32);
    arch::wgmma_k32<kConfig.element_a, kConfig.element_b>(d, a, b, keep);
  }

  // The stage of a k block as wgmma is to see it. One that moves needs its successor.
  WGRAD_DEVICE void make_ready(const StageCursor<kConfig>& at, const Work& w, i32 block) {
    pipeline.wait_full(at);
    const KernelParams& p = cta.params;
    const u32 shift = token_shift<kConfig>(p, w);
    const RowMove a = row_move<kConfig.a, bits_of(kConfig.input)>(w.tokens, p.m, shift);
    const RowMove b = row_move<kConfig.b, bits_of(kConfig.input)>(w.tokens, p.n, shift);
    StageCursor<kConfig> next = at;
    if ((a.any() || b.any()) && block + 1 < w.blocks) {
      next.advance();
      pipeline.wait_full(next);
    }
    const i32 token = first_token<kConfig>(p, w) + i32(shift) + block * kConfig.tile_k;
    if (align_share<kReaders>(pipeline, at.slot, next.slot, w, token, a, b, u32(thread)))
      arch::named_sync(kBothWarpgroups, kReaders);
  }

  WGRAD_DEVICE void under_main_loop(const Work& w, i32 block) const {
    if constexpr (reads_output(kConfig)) {
      if (block == 0) epilogue.fetch_first(w);
    }
    if constexpr (reduces_output(kConfig)) {
      if (block == max_of(w.blocks - kPrefetchLead, 0)) epilogue.prefetch_first(queue.read_again());
    }
  }

  // All k blocks of a tile into the accumulators. A stage is released one block late, when the next
  // group is already running.
  WGRAD_DEVICE void multiply_in_place(Accumulators<kConfig>& d, const Work& w) {
    u32 previous = 0;
    StageCursor<kConfig> at;
    at.skip(w.position);
    for (i32 block = 0; block < w.blocks; ++block, at.advance()) {
      make_ready(at, w, block);
      arch::wgmma_fence();
#pragma unroll
      for (u32 s = 0; s < kSteps<kConfig>; ++s)
        multiply_window(part_of(d, 0), at.slot, s, 0, block + i32(s) > 0 ? 1 : 0);
      arch::wgmma_commit();
      if (block > 0) {
        arch::wgmma_wait<1>();
        pipeline.release(previous);
      }
      under_main_loop(w, block);
      previous = at.slot;
    }
    arch::wgmma_wait<0>();
    d.pin();
    if (w.blocks > 0) pipeline.release(previous);
  }

  // Windows [first, first + count) of a stage and the one after it, of one part of the columns.
  WGRAD_DEVICE void multiply_windows(Part& sums, const StageCursor<kConfig>& at, u32 first,
                                     u32 count, u32 part) const {
    StageCursor<kConfig> next = at;
    next.advance();
    const auto multiply = [&](u32 s) {
      const u32 window = first + s;
      multiply_window(sums, window < kSteps<kConfig> ? at.slot : next.slot,
                      window % kSteps<kConfig>, part, s == 0 ? 0 : 1);
    };
    // The compiler puts a fence behind every branch, and says so, where there is none.
    arch::wgmma_fence();
    multiply(0);
#pragma unroll
    for (u32 s = 1; s < kSteps<kConfig>; ++s) {
      if (s >= count) break;
      arch::wgmma_fence();
      multiply(s);
    }
    arch::wgmma_fence();
    arch::wgmma_commit();
    arch::wgmma_wait<0>();
    arch::wgmma_pin(sums);
  }

  // All tokens of a tile, 128 after 128: a sum of so many, in the tensor cores' accumulators, is
  // added in FP32. They count from the expert's first, which may lie in any window of a stage: so
  // results do not follow where an expert begins. What is read again is not kept: 192 accumulators
  // leave no room for it.
  WGRAD_DEVICE void multiply_promoted(Accumulators<kConfig>& d) {
    constexpr i32 kOfWindow = window_tokens(bits_of(kConfig.input));
    StageCursor<kConfig> at;
    u32 first = 0;
    i32 windows = 0, blocks = 0;  // left
    {
      const Work w = queue.read_again();
      at.skip(w.position);
      blocks = w.blocks;
      first = u32(w.tokens.begin - first_token<kConfig>(cta.params, w)) / u32{kOfWindow};
      windows = ceil_div(w.tokens.end - w.tokens.begin, kOfWindow);
    }
    d.clear();
    if (first > 0 && blocks > 0) make_ready(at, queue.read_again(), 0);
    i32 block = 0;
    for (; windows > 0; windows -= i32{kSteps<kConfig>}, ++block) {
      StageCursor<kConfig> next = at;
      next.advance();
      if (first == 0) {
        make_ready(at, queue.read_again(), block);
      } else if (block + 1 < blocks) {
        make_ready(next, queue.read_again(), block + 1);
      }
#pragma unroll
      for (u32 part = 0; part < kParts; ++part) {
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the first product sets them
        Part sums;
        if (arch::kSetsAccumulators) clear(sums);
        multiply_windows(sums, at, first, u32(windows), part);
        Part& whole = part_of(d, part);
#pragma unroll
        for (u32 i = 0; i < kPartColumns / 2; ++i) whole[i] += sums[i];
      }
      pipeline.release(at.slot);
      under_main_loop(queue.read_again(), block);
      at = next;
    }
    if (block < blocks) pipeline.release(at.slot);
  }

  WGRAD_DEVICE void run() {
    for (;; queue.at.advance()) {
      // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the first product sets them
      Accumulators<kConfig> d;
      const Work w = queue.read();
      if (w.blocks < 0) break;
      if constexpr (kConfig.promote) {
        multiply_promoted(d);
      } else {
        if (w.blocks == 0 || arch::kSetsAccumulators) d.clear();
        multiply_in_place(d, w);
      }
      const Work done = queue.read_again();
      const i32 expert = i32(arch::load_shared_u32(queue.extra_entry()));
      queue.let_go_together();
      if (done.blocks > 0) {
        RowScales<kConfig>{fp8_params(cta)}.apply(d, done, expert, epilogue.band_row(done, 0));
      }
      epilogue.write_out(d, done);
    }
    epilogue.finish();
  }
};

template <KernelConfig auto kConfig>
WGRAD_DEVICE void consume_fp8(const Cta<kConfig>& cta, MathThread thread) {
  const MathWarp warp{arch::warp_uniform(u32(thread) / 32)};
  const Epilogue<kConfig> epilogue{{.params = cta.params,
                                    .ring = {.base = cta.smem, .warp = warp, .at = {}},
                                    .parts = {.base = cta.smem, .warp = warp, .rank = cta.rank},
                                    .row = i32(u32(warp)) * kWarpRows}};
  Fp8Consumer<kConfig>{.cta = cta,
                       .pipeline = {.base = cta.smem},
                       .epilogue = epilogue,
                       .queue = {.base = cta.smem},
                       .thread = thread,
                       .warpgroup = arch::warp_uniform(u32(thread) / kWarpgroupThreads)}
      .run();
}

}  // namespace wgrad::device
