// Parts of an expert's tokens as work of their own (Config::workspace_split): which of them comes
// next, and when the workspace is ready for their sums. The scheduler's side; sm90/partial_sums.cuh
// is the math warps'.
//
//   sums ready: completes once, when the counters of the sums are zero. One arrival of the
//   scheduler of the cluster's first CTA.
//
// Nobody waits but for what a claim of a lower number does, and whoever made that claim runs: so no
// CTA needs another one beside it.
#pragma once

#include "wgrad/common/work_queue.cuh"
#include "wgrad/shared/token_split.hpp"

namespace wgrad::device {

struct TokenPart {
  u32 index;
  u32 count;  // 1: all tokens
  u32 set;    // of the workspace
};

template <KernelConfig auto kConfig>
requires(splits_in_workspace(kConfig)) struct TileExtra<kConfig> {
  static constexpr bool kAny = true;
  static constexpr u32 kOffset = place_of(kConfig, "token part").at, kBytes = 16;

  WGRAD_DEVICE static TokenPart read(u32 entry) {
    const arch::Chunk c = arch::load_shared(entry);
    return {c.word[0], c.word[1], c.word[2]};
  }
};

// Address of the counter of part `index`: four bits for each math warp, of how many of the two sums
// that meet there have come. Of part 0: how often a math warp has had the last of a tile's sums.
WGRAD_DEVICE u64 sum_counter(const KernelParams& p, u32 set, u32 index) {
  return p.partial_sums + u64{4} * (set * p.token_split.most + index);
}

template <KernelConfig auto kConfig, bool kAny>
struct TokenParts {  // none
  WGRAD_DEVICE TokenParts(const Cta<kConfig>&, bool) {}
};

template <KernelConfig auto kConfig>
struct TokenParts<kConfig, true> {
  static constexpr Place kReady = place_of(kConfig, "sums ready");
  static constexpr u32 kWarps = u32(math_warps(kConfig));
  static constexpr u32 kCtas = u32(cluster_ctas(kConfig));

  const Cta<kConfig>& cta;
  bool claims;            // else every part of a tile is this CTA's, in a set of its own
  u32 split_tiles = 0;    // those of the experts in the first slots
  bool is_first = false;  // this cluster has claimed unit 0
  bool is_ready = false;
  TokenPart part{};

  WGRAD_DEVICE TokenParts(const Cta<kConfig>& c, bool claims_tiles) : cta(c), claims(claims_tiles) {
    split_tiles = claims ? split_experts() * tiles_per_expert(cta.grid) : tile_count(cta.grid);
  }

  WGRAD_DEVICE u32 most() const { return cta.params.token_split.most; }
  WGRAD_DEVICE u32 units() const { return split_tiles * (most() - 1) + tile_count(cta.grid); }
  WGRAD_DEVICE bool is_split(u32 tile) const { return tile < split_tiles; }
  // Of the workspace's sets, a cluster's CTAs have one each.
  WGRAD_DEVICE u32 own_set(u32 of_the_cluster) const { return of_the_cluster * kCtas + cta.rank; }
  WGRAD_DEVICE u32 ready() const { return cta.smem + kReady.at; }

  // Of experts, largest first; those that are not in order are not split.
  WGRAD_DEVICE u32 split_experts() const {
    u32 low = 0, high = cta.is_ordered() ? u32(cta.params.experts) : 0;
    while (low < high) {
      const u32 middle = (low + high) / 2;
      const bool split = arch::load_shared_u16(cta.order_entry(middle)) >= kSplitExpert;
      low = split ? middle + 1 : low;
      high = split ? high : middle;
    }
    return low;
  }

  // The tile that unit of work `index` belongs to. All tiles of an expert come with its first part
  // of the tokens, then all with the second: so these meet in L2.
  WGRAD_DEVICE u32 tile_of(u32 index) {
    is_first = is_first || index == 0;
    const u32 parts = split_tiles * most();
    if (index >= parts || !claims) {
      part.index = claims ? 0 : index % most();
      return claims ? index - parts + split_tiles : index / most();
    }
    const u32 tiles = tiles_per_expert(cta.grid);
    const u32 slot = index / (tiles * most()), of_expert = index - slot * tiles * most();
    part.index = of_expert / tiles;
    return slot * tiles + of_expert % tiles;
  }

  // All counters, by whoever claimed unit 0: it is there, whichever other CTAs are.
  WGRAD_DEVICE void clear_all() const {
    const u64 begin = cta.params.partial_sums;
    const u64 end = begin + sum_counters_bytes(kConfig, cta.params.token_split);
    for (u64 at = begin; at < end; at += 16) arch::store_global(at, {});
    arch::add_global_release_u32(cta.params.claims + 4, kSumsReady);
  }
  WGRAD_DEVICE void clear_own() const {
    if (cta.cluster >= cta.params.token_split.sets) return;  // it is dealt no tile
    for (u32 i = 0; i < most(); ++i)
      arch::store_global_i32(sum_counter(cta.params, own_set(cta.cluster), i), 0);
  }

  // Once the first tile is pushed, whose sums come later, or there is none. The first CTA of a
  // cluster speaks for it: when it has left, the flag may be gone.
  WGRAD_DEVICE void make_ready() {
    if (is_ready || split_tiles == 0) return;
    is_ready = true;
    if (!claims) {
      clear_own();
      arch::barrier_arrive_release_cluster(arch::map_to_rank(ready(), cta.rank));
      return;
    }
    if (cta.rank != 0) return;
    if (is_first) clear_all();
    arch::wait_global_acquire(cta.params.claims + 4, kSumsReady);
    for (u32 i = 0; i < kCtas; ++i)
      arch::barrier_arrive_release_cluster(arch::map_to_rank(ready(), i));
  }

  // Takes this part's tokens of the tile's, once a set is free for its sums; false: there is no
  // such part.
  WGRAD_DEVICE bool take(u32 tile, Work& w) {
    const TokenSplit split = cta.params.token_split;
    part.count = is_split(tile) ? token_parts(split, u32(w.tokens.end - w.tokens.begin)) : 1;
    if (part.index >= part.count) return false;
    part.set = own_set(claims ? tile % split.sets : cta.cluster);
    if (part.count > 1 && claims) wait_free(tile / split.sets);
    w.tokens = token_share(w.tokens, part.index, i32(part.count));
    w.blocks = block_count<kConfig>(cta.params, w.tokens);
    return true;
  }

  // Every math warp has had the last sums of the `before` tiles that the set served before.
  WGRAD_DEVICE void wait_free(u32 before) {
    if (before == 0) return;
    make_ready();
    arch::barrier_wait_acquire_cluster(ready(), 0);
    arch::wait_global_acquire(sum_counter(cta.params, part.set, 0), before * kWarps);
  }

  // A tile that is not to be stored: nobody will have its sums.
  WGRAD_DEVICE void pass_over(u32 tile) {
    if (!claims || !is_split(tile) || part.index != 0) return;
    make_ready();
    arch::barrier_wait_acquire_cluster(ready(), 0);
    const u32 set = own_set(tile % cta.params.token_split.sets);
    arch::add_global_release_u32(sum_counter(cta.params, set, 0), kWarps);
  }

  WGRAD_DEVICE arch::Chunk extra() const { return {{part.index, part.count, part.set, 0}}; }
};

}  // namespace wgrad::device
