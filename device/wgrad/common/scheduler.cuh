// The scheduler: one thread that decides which tile comes next, and looks up all that the other
// roles need to know of it, so that none of them waits for global memory.
#pragma once

#include "wgrad/common/cluster_claims.cuh"
#include "wgrad/common/token_parts.cuh"
#include "wgrad/common/work_queue.cuh"

namespace wgrad::device {

// Tile numbers for one CTA: dealt out in turn, or claimed from a counter a few tiles ahead, so
// that a CTA that was held up, or had long tiles, takes fewer. The CTAs of a cluster take the same.
template <KernelConfig auto kConfig>
struct TileSource {
  static constexpr bool kTogether = claims_together(kConfig);

  const Cta<kConfig>& cta;
  ClusterClaims<kConfig> cluster;
  u32 next;  // dealt out in turn
  u32 ahead = 0;
  bool has_ahead = false;

  WGRAD_DEVICE explicit TileSource(const Cta<kConfig>& c)
      : cta(c), cluster{c.smem}, next(c.cluster) {
    if constexpr (splits_in_workspace(kConfig)) next *= c.params.token_split.most;
  }

  WGRAD_DEVICE bool claims() const { return claims_tiles(kConfig) && cta.params.claims != 0; }

  WGRAD_DEVICE u32 claim() {
    if (!has_ahead) return arch::add_global_u32(cta.params.claims, 1);
    has_ahead = false;
    return ahead;
  }

  // Asks for the next tile while this one is looked up: with few tokens the answers' latencies, one
  // after the other, would be longer than a tile.
  WGRAD_DEVICE void claim_ahead() {
    if (!claims() || (kTogether && cta.rank != 0)) return;
    ahead = arch::add_global_u32(cta.params.claims, 1);
    has_ahead = true;
  }

  // tile_count or more: there are no more.
  WGRAD_DEVICE u32 take() {
    if (claims()) {
      if constexpr (!kTogether) return claim();
      if (cta.rank == 0) cluster.tell(claim());
      return cluster.hear();
    }
    const u32 index = next;
    if constexpr (splits_in_workspace(kConfig)) {  // one part of a tile after the other
      const u32 parts = cta.params.token_split.most;
      const u32 dealt_to = min_of(cta.cluster_count, u32{cta.params.token_split.sets});
      next += (next + 1) % parts == 0 ? (dealt_to - 1) * parts + 1 : 1;
      return cta.cluster < dealt_to ? index : ~0u;
    }
    next += cta.cluster_count;
    return index;
  }

  // After the last take: the last CTA, or cluster, of all clears the counters for the next launch.
  WGRAD_DEVICE void leave() const {
    if (!claims() || (kTogether && cta.rank != 0)) return;
    // Whoever comes last has seen that all others had their last answers; this one's too, of which
    // no tile has such a number.
    const u32 one = has_ahead && ahead == ~0u ? 2 : 1;
    const u32 left = arch::add_global_u32(cta.params.claims + 4, one);
    if (left % kSumsReady != cta.cluster_count - 1) return;
    arch::store_global_i64(cta.params.claims, 0);
  }
};

template <KernelConfig auto kConfig>
struct Scheduler {
  static constexpr bool kSplits = splits_in_workspace(kConfig);
  static constexpr i32 kLongTile = (kSplits ? 2 : 4) * kConfig.stages;  // k blocks

  const Cta<kConfig>& cta;
  TileSource<kConfig> source;
  WorkQueue<kConfig> queue;
  TokenParts<kConfig, kSplits> parts;
  u32 position = 0;
  i32 last_blocks = kLongTile;  // of the tile pushed last
  arch::Chunk extra{};

  WGRAD_DEVICE explicit Scheduler(const Cta<kConfig>& c)
      : cta(c), source(c), queue{.base = c.smem}, parts(c, source.claims()) {}

  // Of tiles, or of parts of them.
  WGRAD_DEVICE u32 units() const {
    if constexpr (kSplits) return parts.units();
    return tile_count(cta.grid);
  }

  // Experts lie in order, those without tokens at the end: an accumulation has nothing to do there.
  WGRAD_DEVICE bool is_past_the_tokens(const Work& w) const {
    return kConfig.accumulate && w.blocks == 0 && cta.is_ordered();
  }

  // False: a tile of which nothing is stored.
  WGRAD_DEVICE bool look_up(u32 index, Work& w) {
    const KernelParams& p = cta.params;
    if constexpr (kSplits) index = parts.tile_of(index);
    const TileCoord tile = tile_at(cta.grid, index);
    const i32 expert = expert_at(cta, tile.slot);
    const i32 row = i32(tile.row) * kConfig.cluster_m;
    w.m0 = (row + (kConfig.cluster_m > 1 ? i32(cta.rank) : 0)) * kConfig.tile_m;
    w.n0 = i32(tile.column) * kConfig.tile_n;
    w.tokens = expert_tokens(p, expert);
    w.blocks = block_count<kConfig>(p, w.tokens);
    w.position = position;
    w.address = expert_address<kConfig>(p, expert);
    if constexpr (TileExtra<kConfig>::kAny && !kSplits)
      extra = TileExtra<kConfig>::look_up(cta, expert, w);
    if (kConfig.output_mode == OutputMode::kDiscrete && !is_storable(w.address)) {
      if constexpr (kSplits) parts.pass_over(index);
      return false;
    }
    if (kConfig.accumulate && w.blocks == 0) return false;
    return take_share(index, w);
  }

  // This CTA's tokens of the tile; none, now and then. False: this part of the tile has none.
  WGRAD_DEVICE bool take_share(u32 tile, Work& w) {
    if constexpr (kConfig.split_k > 1) {
      w.tokens = token_share(w.tokens, cta.rank, kConfig.split_k);
      w.blocks = block_count<kConfig>(cta.params, w.tokens);
    }
    if constexpr (kSplits) {
      if (!parts.take(tile, w)) return false;
      extra = parts.extra();
    }
    return true;
  }

  // A long tile is claimed when the one before the last is multiplied: sooner, a CTA would hold
  // what others that come free could start. Threads that copy must not wait.
  WGRAD_DEVICE void wait_before_claim() const {
    if constexpr (!uses_loader(kConfig)) {
      if (last_blocks >= kLongTile) queue.wait_read_before_last();
    }
  }

  // Puts the next tile into the queue; false: after the last one, the end for every warpgroup.
  WGRAD_DEVICE bool advance() {
    Work w{};
    const u32 tiles = units();
    wait_before_claim();
    for (u32 index = source.take(); index < tiles; index = source.take()) {
      if (last_blocks < kLongTile) source.claim_ahead();
      if (look_up(index, w)) {
        queue.push(w, extra);
        if constexpr (kSplits) parts.make_ready();
        last_blocks = w.blocks;
        position = (position + u32(w.blocks)) % (2 * u32(kConfig.stages));
        return true;
      }
      if (is_past_the_tokens(w)) break;
    }
    if constexpr (kSplits) parts.make_ready();
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
