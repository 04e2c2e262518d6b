// One output tile to compute: which expert, where, which tokens, where it is stored. Every role
// derives it alone and alike.
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/shared/smem.hpp"

namespace wgrad::device {

struct Work {
  i32 expert;
  i32 m0;  // first row and column of this CTA's tile
  i32 n0;
  TokenRange tokens;
  i32 first;    // token of the first k block, <= tokens.begin
  i32 blocks;   // k blocks; 0 for an empty or a refused expert
  u64 address;  // of the expert's output
  bool stores;  // false: leave the output as it is
};

// What a CTA knows for its whole life.
template <Config kConfig>
struct Cta {
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
        rank(kConfig.cluster_m == 1 ? 0 : arch::cluster_rank()),
        cluster(arch::block_index() / u32(kConfig.cluster_m)),
        cluster_count(arch::block_count() / u32(kConfig.cluster_m)) {}

  WGRAD_DEVICE bool is_ordered() const { return params.experts <= kMaxOrderedExperts; }
  WGRAD_DEVICE u32 order_entry(u32 slot) const {
    return smem + smem_layout(kConfig).order + 2 * slot;
  }
};

WGRAD_DEVICE TokenRange expert_tokens(const KernelParams& p, i32 expert) {
  const i32 previous = expert == 0 ? 0 : arch::load_global_i32(p.offsets + 4 * u64(expert - 1));
  return token_range(previous, arch::load_global_i32(p.offsets + 4 * u64(expert)), p.tokens);
}

template <Config kConfig>
WGRAD_DEVICE u64 expert_address(const KernelParams& p, i32 expert) {
  if constexpr (kConfig.output_mode == OutputMode::kDiscrete) {
    return arch::load_global_u64(p.wgrad_ptrs + 8 * u64(expert));
  }
  return p.wgrad + u64(i64{expert} * p.expert_stride_bytes);
}

template <Config kConfig>
WGRAD_DEVICE i32 expert_at(const Cta<kConfig>& cta, u32 slot) {
  return i32(cta.is_ordered() ? arch::load_shared_u16(cta.order_entry(slot)) : slot);
}

WGRAD_DEVICE bool is_storable(u64 address) {
  return address != 0 && address % 16 == 0;
}

template <Config kConfig>
WGRAD_DEVICE Work work_at(const Cta<kConfig>& cta, u32 index) {
  const KernelParams& p = cta.params;
  const TileCoord tile = tile_at(cta.grid, index);
  Work w;

  w.expert = expert_at(cta, tile.slot);
  w.m0 = (i32(tile.row) * kConfig.cluster_m + i32(cta.rank)) * kConfig.tile_m;
  w.n0 = i32(tile.column) * kConfig.tile_n;
  w.tokens = expert_tokens(p, w.expert);
  const i32 alignment = max_of(p.token_alignment, kTokenAlignment);
  w.first = first_token(kConfig, w.tokens, alignment);
  w.address = expert_address<kConfig>(p, w.expert);

  const bool storable = kConfig.output_mode == OutputMode::kDense || is_storable(w.address);
  w.blocks = storable ? k_blocks(kConfig, w.tokens, alignment) : 0;

  w.stores = storable && (w.blocks > 0 || !kConfig.accumulate);
  return w;
}

// Output boxes of 64 rows: how many of this tile's reach into the matrix.
template <Config kConfig>
WGRAD_DEVICE i32 boxes_inside(const KernelParams& p, const Work& w, i32 row) {
  if (!w.stores || row >= p.m) return 0;
  const i32 columns = output_box_columns(kConfig);
  return min_of(output_boxes(kConfig),
                (boxed_columns(kConfig, p.n) - w.n0 + columns - 1) / columns);
}

template <Config kConfig>
WGRAD_DEVICE arch::Coord box_coord(const KernelParams& p, const Work& w, i32 row, i32 box) {
  const AddressCoord out = address_coord(w.address, p.out_map_base);
  return {{w.n0 + box * output_box_columns(kConfig), row, out.lo, out.hi, 0}};
}

}  // namespace wgrad::device
