// The scheduler: one thread that decides which tile comes next, and looks up all that the other
// roles need to know of it, so that none of them waits for global memory.
#pragma once

#include "wgrad/common/work_queue.cuh"

namespace wgrad::device {

// Tile numbers for one CTA: dealt out in turn, or claimed from a counter a few tiles ahead, so
// that a CTA that was held up, or had long tiles, takes fewer.
template <KernelConfig auto kConfig>
struct TileSource {
  const Cta<kConfig>& cta;
  u32 next;  // dealt out in turn

  WGRAD_DEVICE explicit TileSource(const Cta<kConfig>& c) : cta(c), next(c.cluster) {}

  // The CTAs of a cluster must agree, so clusters are dealt theirs.
  WGRAD_DEVICE bool claims() const { return cluster_ctas(kConfig) == 1 && cta.params.claims != 0; }

  // tile_count or more: there are no more.
  WGRAD_DEVICE u32 take() {
    if (claims()) return arch::add_global_u32(cta.params.claims, 1);
    const u32 index = next;
    next += cta.cluster_count;
    return index;
  }

  // After the last take: the last CTA of all clears the counters for the next launch.
  WGRAD_DEVICE void leave() const {
    if (!claims()) return;
    // Whoever comes last has seen that all others had their last answers.
    if (arch::add_global_u32(cta.params.claims + 4, 1) != cta.cluster_count - 1) return;
    arch::store_global_i64(cta.params.claims, 0);
  }
};

template <KernelConfig auto kConfig>
struct Scheduler {
  const Cta<kConfig>& cta;
  TileSource<kConfig> source;
  WorkQueue<kConfig> queue;
  u32 position = 0;
  arch::Chunk extra{};

  WGRAD_DEVICE explicit Scheduler(const Cta<kConfig>& c) : cta(c), source(c), queue{c.smem} {}

  // Experts lie in order, those without tokens at the end: an accumulation has nothing to do there.
  WGRAD_DEVICE bool is_past_the_tokens(const Work& w) const {
    return kConfig.accumulate && w.blocks == 0 && cta.is_ordered();
  }

  // False: a tile of which nothing is stored.
  WGRAD_DEVICE bool look_up(u32 index, Work& w) {
    const KernelParams& p = cta.params;
    const TileCoord tile = tile_at(cta.grid, index);
    const i32 expert = expert_at(cta, tile.slot);
    const i32 row = i32(tile.row) * kConfig.cluster_m;
    w.m0 = (row + (kConfig.cluster_m > 1 ? i32(cta.rank) : 0)) * kConfig.tile_m;
    w.n0 = i32(tile.column) * kConfig.tile_n;
    w.tokens = expert_tokens(p, expert);
    w.blocks = block_count<kConfig>(p, w.tokens);
    w.position = position;
    w.address = expert_address<kConfig>(p, expert);
    if constexpr (TileExtra<kConfig>::kAny) extra = TileExtra<kConfig>::look_up(cta, expert, w);
    if (kConfig.output_mode == OutputMode::kDiscrete && !is_storable(w.address)) return false;
    return w.blocks > 0 || !kConfig.accumulate;
  }

  // This CTA's tokens of the tile; none, now and then.
  WGRAD_DEVICE void take_share(Work& w) const {
    if constexpr (kConfig.split_k > 1) {
      w.tokens = token_share(w.tokens, cta.rank, kConfig.split_k);
      w.blocks = block_count<kConfig>(cta.params, w.tokens);
    }
  }

  // Puts the next tile into the queue; false: after the last one, the end for every warpgroup.
  WGRAD_DEVICE bool advance() {
    Work w{};
    const u32 tiles = tile_count(cta.grid);
    for (u32 index = source.take(); index < tiles; index = source.take()) {
      if (look_up(index, w)) {
        take_share(w);
        queue.push(w, extra);
        position = (position + u32(w.blocks)) % (2 * u32(kConfig.stages));
        return true;
      }
      if (is_past_the_tokens(w)) break;
    }
    source.leave();
    // From here on the next launch may take the multiprocessors that have none of this one's CTAs.
    arch::launch_dependents();
    w.blocks = -1;
    for (i32 i = 0; i < tiles_at_once(kConfig); ++i) queue.push(w);
    return false;
  }

  WGRAD_DEVICE void run() {
    while (advance()) {
    }
  }
};

}  // namespace wgrad::device
