// The Hopper kernel for block-scaled operands: persistent and warp-specialised. One thread
// schedules. One has the copy engine bring codes and scale factors; converter warpgroups decode
// them into 16-bit stages; two math warpgroups multiply these with wgmma and drain their tiles
// through an output ring. Launch: threads_per_cta(kConfig) threads, smem_table(kConfig).total
// bytes of dynamic shared memory, grid_ctas(...) CTAs.
#pragma once

#include "wgrad/common/setup.cuh"
#include "wgrad/sm90_scaled/column_consumer.cuh"
#include "wgrad/sm90_scaled/convert_staged_columns.cuh"
#include "wgrad/sm90_scaled/convert_units.cuh"
#include "wgrad/sm90_scaled/converter.cuh"
#include "wgrad/sm90_scaled/producer.cuh"
#include "wgrad/sm90_scaled/register_consumer.cuh"

namespace wgrad::device {

// Registers a thread of each role gets, by the number of converter warpgroups: multiples of 8, and
// together no more than the CTA is launched with.
struct RoleRegisters {
  u32 copy;
  u32 convert;
  u32 math;
};
constexpr RoleRegisters role_registers(const ScaledConfig& c) {
  if (decodes_columns(c)) return {48, 64, 200};
  if (c.registers_a) return {56, 56, 200};
  if (c.converters == 1) return {40, 120, 176};
  if (c.converters == 2) return {40, 88, 128};
  return {40, 40, 160};
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE void prepare_scaled(const Cta<kConfig>& cta) {
  if (arch::thread_index() == 0) {
    if constexpr (kConfig.raw_a != OperandLayout::kKMajorRagged)
      arch::prefetch_map(cta.params.map_a);
    if constexpr (kConfig.raw_b != OperandLayout::kKMajorRagged)
      arch::prefetch_map(cta.params.map_b);
    arch::prefetch_map(cta.params.map_out);
    init_barriers<kConfig>(cta.smem);
    arch::barrier_init_fence();
  }
  arch::grid_dependency_wait();
  check_data(cta);
  order_experts(cta);
  write_checkpoints(cta);
  arch::fence_async_shared();
  arch::cta_sync();
  check_scaled_data(cta);
}

// The converters; `thread` counts theirs.
template <KernelConfig auto kConfig>
WGRAD_DEVICE void convert_codes(const Cta<kConfig>& cta, u32 thread) {
  if constexpr (decodes_columns(kConfig)) {
    StagedColumns<kConfig>{.cta = cta, .pipeline = {.base = cta.smem}}.run(
        arch::warp_uniform(thread / 32));
  } else if constexpr (kConfig.registers_a) {
    UnitConverter<kConfig>{.cta = cta, .pipeline = {.base = cta.smem}, .row = thread}.run();
  } else {
    Converter<kConfig>{.cta = cta, .pipeline = {.base = cta.smem}, .thread = thread}.run();
  }
}

// A math warpgroup; `thread` counts the math threads.
template <KernelConfig auto kConfig>
WGRAD_DEVICE void multiply_decoded(const Cta<kConfig>& cta, u32 thread) {
  constexpr u32 kBands = Accumulators<kConfig>::kBands;
  const u32 warpgroup = arch::warp_uniform(thread / kWarpgroupThreads);
  const u32 warp = arch::warp_uniform(thread / 32);
  const u32 row = warpgroup * kBands * u32{kWarpgroupRows} + warp % 4 * u32{kWarpRows};
  const Epilogue<kConfig> epilogue{
      {.params = cta.params,
       .ring = {.base = cta.smem, .warp = MathWarp{warp}, .at = {}},
       .parts = {.base = cta.smem, .warp = MathWarp{warp}, .rank = cta.rank},
       .row = i32(row)}};
  if constexpr (decodes_columns(kConfig)) {
    ColumnConsumer<kConfig>{.cta = cta,
                            .pipeline = {.base = cta.smem},
                            .epilogue = epilogue,
                            .queue = {.base = cta.smem},
                            .row = row}
        .run();
  } else if constexpr (kConfig.registers_a) {
    const u32 own = row + Fragment::row(arch::lane_index(), 0u);
    RegisterConsumer<kConfig>{.cta = cta,
                              .pipeline = {.base = cta.smem},
                              .epilogue = epilogue,
                              .queue = {.base = cta.smem},
                              .row = own,
                              .quad = arch::lane_index() % 4}
        .run();
  } else {
    ScaledConsumer<kConfig>{.cta = cta,
                            .pipeline = {.base = cta.smem},
                            .epilogue = epilogue,
                            .queue = {.base = cta.smem},
                            .warpgroup = warpgroup}
        .run();
  }
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE void wgrad_sm90_scaled(const ScaledParams& params) {
  static_assert(is_valid(kConfig), "no such format, tile or depth");
  static_assert(smem_table(kConfig).total <= kMaxSharedBytes, "more shared memory than a CTA has");
  constexpr RoleRegisters kRegisters = role_registers(kConfig);
  constexpr u32 kFirstMath = u32(first_math_thread(kConfig));
  const Cta<kConfig> cta(params);
  prepare_scaled(cta);
  const u32 thread = arch::thread_index();
  const u32 warpgroup = arch::warp_uniform(thread / kWarpgroupThreads);
  if (warpgroup == 0) {
    arch::release_registers<kRegisters.copy>();
    produce_codes(cta, thread);
  } else if (warpgroup <= u32(kConfig.converters)) {
    arch::release_registers<kRegisters.convert>();
    convert_codes(cta, thread - kWarpgroupThreads);
  } else {
    arch::claim_registers<kRegisters.math>();
    multiply_decoded(cta, thread - kFirstMath);
  }
}

}  // namespace wgrad::device
