// One output tile to compute: where it lies, which tokens, where it is stored.
#pragma once

#include "wgrad/common/ragged.cuh"
#include "wgrad/shared/smem_table.hpp"

namespace wgrad::device {

struct Work {
  i32 m0;  // first row and column of this CTA's tile
  i32 n0;
  TokenRange tokens;
  i32 blocks;    // k blocks; 0: all zeros; negative: there is no more to do
  u32 position;  // k blocks of this CTA before, modulo two rounds of the stages
  u64 address;   // of the expert's output
};

// What a family tells its roles of a tile beyond Work, if anything: 16 bytes that the scheduler
// looks up (`look_up(cta, expert, work)`) and leaves kOffset bytes into shared memory.
template <KernelConfig auto kConfig>
struct TileExtra {
  static constexpr bool kAny = false;
  static constexpr u32 kOffset = 0, kBytes = 16;
};

// On top of an expert's number in the order of the experts: its tokens go into parts.
inline constexpr u32 kSplitExpert = 1u << 15;

// What a CTA knows for its whole life.
template <KernelConfig auto kConfig>
struct Cta {
  static constexpr Place kOrder = place_of(kConfig, "order");

  const KernelParams& params;
  TileGrid grid;
  u32 smem;     // start of dynamic shared memory
  u32 rank;     // in the cluster
  u32 cluster;  // index of the cluster
  u32 cluster_count;

  WGRAD_DEVICE explicit Cta(const KernelParams& p)
      : params(p),
        grid(tile_grid(kConfig, p.m, p.n, p.experts, p.raster_m)),
        smem(arch::shared_base()),
        rank(cluster_ctas(kConfig) == 1 ? 0 : arch::cluster_rank()),
        cluster(arch::block_index() / u32(cluster_ctas(kConfig))),
        cluster_count(arch::block_count() / u32(cluster_ctas(kConfig))) {}

  WGRAD_DEVICE bool is_ordered() const { return params.experts <= kMaxOrderedExperts; }
  WGRAD_DEVICE u32 order_entry(u32 slot) const { return smem + kOrder.at + kOrder.bytes * slot; }
};

WGRAD_DEVICE TokenRange expert_tokens(const KernelParams& p, i32 expert) {
  const i32 previous = expert == 0 ? 0 : arch::load_global_i32(p.offsets + 4 * u64(expert - 1));
  return token_range(previous, arch::load_global_i32(p.offsets + 4 * u64(expert)), p.tokens);
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE u64 expert_address(const KernelParams& p, i32 expert) {
  if constexpr (kConfig.output_mode == OutputMode::kDiscrete) {
    return arch::load_global_u64(p.wgrad_ptrs + 8 * u64(expert));
  }
  return p.wgrad + u64(i64{expert} * p.expert_stride_bytes);
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE i32 expert_at(const Cta<kConfig>& cta, u32 slot) {
  if (!cta.is_ordered()) return i32(slot);
  const u32 entry = arch::load_shared_u16(cta.order_entry(slot));
  return i32(splits_in_workspace(kConfig) ? entry % kSplitExpert : entry);
}

WGRAD_DEVICE bool is_storable(u64 address) {
  return address != 0 && address % 16 == 0;
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE i32 token_alignment(const KernelParams& p) {
  return max_of(p.token_alignment, unit_tokens(bits_of(kConfig.input)));
}

// Token that the first box of a K-major operand starts with, <= tokens.begin.
template <KernelConfig auto kConfig>
WGRAD_DEVICE i32 first_token(const KernelParams& p, const Work& w) {
  return shared::first_token(kConfig, w.tokens, token_alignment<kConfig>(p));
}
template <KernelConfig auto kConfig>
WGRAD_DEVICE u32 token_shift(const KernelParams& p, const Work& w) {
  return u32(shared::token_shift(kConfig, w.tokens, token_alignment<kConfig>(p)));
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE i32 block_count(const KernelParams& p, TokenRange tokens) {
  if constexpr (uses_loader(kConfig)) return ragged_blocks<kConfig>(p.m, p.n, tokens);
  return k_blocks(kConfig, tokens, token_alignment<kConfig>(p));
}

// Rows of B in a stage of this CTA; of a pair each has half.
template <KernelConfig auto kConfig>
constexpr u32 b_stage_rows() {
  return b_stage_bytes(kConfig) * 8 / u32(kConfig.tile_k * bits_of(kConfig.input));
}
template <KernelConfig auto kConfig>
WGRAD_DEVICE i32 first_b_row(const Cta<kConfig>& cta, const Work& w) {
  if constexpr (!multiplies_in_pairs(kConfig)) return w.n0;
  return w.n0 + i32(cta.rank * b_stage_rows<kConfig>());
}

// Output boxes from `row` on: how many of this tile's reach into the matrix.
template <KernelConfig auto kConfig>
WGRAD_DEVICE i32 boxes_inside(const KernelParams& p, const Work& w, i32 row) {
  if (row >= p.m) return 0;
  const i32 columns = output_box_columns(kConfig);
  return min_of(output_boxes(kConfig),
                (boxed_columns(kConfig, p.n) - w.n0 + columns - 1) / columns);
}

template <KernelConfig auto kConfig>
WGRAD_DEVICE arch::Coord box_coord(const KernelParams& p, const Work& w, i32 row, i32 box) {
  const AddressCoord out = address_coord(w.address, p.out_map_base);
  return {{w.n0 + box * output_box_columns(kConfig), row, out.lo, out.hi, 0}};
}

}  // namespace wgrad::device
