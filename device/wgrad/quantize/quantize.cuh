// Kernels that quantise along tokens, per expert. A call is two launches, or with computed global
// scales three: the table of experts (table.cuh), each expert's largest magnitude, the codes. A
// warp loads 32 tokens of 64 rows into registers, two rows a lane.
#pragma once

#include "wgrad/quantize/store.cuh"
#include "wgrad/quantize/table.cuh"

namespace wgrad::device {

// Largest finite magnitudes by expert, into QuantizeOperand::amax. A warp's units of one expert
// follow each other, so that it tells each expert's once.
template <QuantizeConfig kConfig>
struct ExpertAmax {
  const QuantizeParams& p;
  u64 place = 0;  // of the expert that `most` belongs to
  u32 most = 0;

  WGRAD_DEVICE void tell() {
    const u32 all = arch::warp_max_u32(most);
    if (all > 0 && arch::lane_index() == 0) arch::max_global_u32(place, all);
    most = 0;
  }
  // Bits of the largest finite magnitude of this lane's two rows.
  WGRAD_DEVICE static u32 finite_amax(const BlockValues<kConfig>& values) {
    u32 amax[2] = {};
    values.template find_amax<kUnitTokens>(0, amax);
    u32 all = max_of(amax[0], amax[1]);
    if (all < kFloatInfinity) return all;
    all = 0;
#pragma unroll
    for (i32 i = 0; i < 2 * kUnitTokens; ++i) {
      const u32 size = magnitude_bits(values.value(i / kUnitTokens, i % kUnitTokens));
      all = max_of(all, size < kFloatInfinity ? size : 0u);
    }
    return all;
  }
  WGRAD_DEVICE void visit(const Unit& unit) {
    if (!unit.is_any || unit.is_rest || unit.operand.amax == 0) return;
    const u64 own = unit.operand.amax + 4 * u64(unit.expert_index);
    if (own != place && place != 0) tell();
    place = own;
    BlockValues<kConfig> values{};
    values.load(unit, unit.row + 2 * i64{arch::lane_index()}, p.signs);
    most = max_of(most, finite_amax(values));
  }
};

// Launch: any number of CTAs of kQuantizeThreads threads.
template <QuantizeConfig kConfig>
WGRAD_DEVICE void wgrad_quantize_amax(const QuantizeParams& params) {
  static_assert(is_valid(kConfig), "no such format");
  ExpertAmax<kConfig> amax{.p = params};
  for_each_unit(params, [&](const Unit& unit) { amax.visit(unit); });
  if (amax.place != 0) amax.tell();
}

WGRAD_DEVICE float global_scale(const QuantizeOperand& o, i32 expert) {
  if (o.global_given != 0)
    return bits_as<float>(arch::stream_u32(o.global_given + 4 * u64(expert)));
  return nvfp4_global(arch::stream_u32(o.amax + 4 * u64(expert)));
}

template <QuantizeConfig kConfig>
struct UnitQuantizer {
  using Codes = LaneCodes<kConfig>;

  const QuantizeParams& p;
  u32 smem = 0;
  u32 warp = 0;
  u32 turns = 0;  // of the CTA's shared memory, which is there twice

  WGRAD_DEVICE Codes encoded(const Unit& unit, i64 row) const {
    if (unit.is_rest || !unit.is_any) return {};
    GlobalScale global{};
    if constexpr (kConfig.scale == ScaleType::kE4m3)
      global = global_of(global_scale(unit.operand, unit.expert_index));
    BlockValues<kConfig> values{};
    values.load(unit, row, p.signs);
    return Encoder<kConfig>{values, unit, row, global, p.rounds_up != 0}.encoded();
  }
  // All warps of the CTA come here. Nobody can be two groups ahead of another: whoever stores one
  // has not met the others for the next.
  WGRAD_DEVICE void store_rows(const Unit& unit, const Codes& codes) {
    const u32 group =
        smem + u32(kQuantizeWarps * kTurnBytes) + turns % 2 * u32(group_bytes(kConfig));
    const TokenRows<kConfig> rows{p, unit, smem + warp * u32(kTurnBytes), group, warp};
    if (unit.is_in_group) {
      rows.put_group(codes);
      arch::cta_sync();
      rows.store_group();
      ++turns;
    } else if (unit.tokens > 0) {
      rows.store_unit(codes);
    }
  }
  WGRAD_DEVICE void visit(const Unit& unit) {
    const i64 row = unit.row + 2 * i64{arch::lane_index()};
    const Codes codes = encoded(unit, row);
    if (unit.is_any) {
      const ScaleColumns scales{p, unit};
      scales.store(codes.scale[0], row);
      scales.store(codes.scale[1], row + 1);
    }
    if constexpr (kConfig.mn_major) {
      if (unit.tokens > 0) TokenColumns<kConfig>{unit}.store(codes, row);
    } else {
      store_rows(unit, codes);
    }
  }
};

// The global scales as the call returns them.
WGRAD_DEVICE void store_global_scales(const QuantizeParams& p) {
  if (arch::block_index() != 0) return;
  for (i32 i = 0; i < p.operands; ++i) {
    const QuantizeOperand& o = p.operand[i];
    if (o.global_out == 0) continue;
    for (i32 e = i32(arch::thread_index()); e < p.experts; e += kQuantizeThreads)
      arch::store_output_f32(o.global_out + 4 * u64(e), global_scale(o, e));
  }
}

// Launch: any number of CTAs of kQuantizeThreads threads, quantize_shared_bytes(kConfig).
template <QuantizeConfig kConfig>
WGRAD_DEVICE void wgrad_quantize(const QuantizeParams& params) {
  static_assert(is_valid(kConfig), "no such format");
  if constexpr (kConfig.scale == ScaleType::kE4m3) store_global_scales(params);
  const u32 warp = arch::warp_uniform(arch::thread_index() / 32);
  UnitQuantizer<kConfig> quantizer{params, arch::shared_base(), warp};
  for_each_unit(params, [&](const Unit& unit) { quantizer.visit(unit); });
}

}  // namespace wgrad::device
