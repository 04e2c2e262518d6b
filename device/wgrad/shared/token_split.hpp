// Config::workspace_split: how many parts an expert's tokens go into, and where their sums lie in
// the workspace. Pure arithmetic. The parts follow the expert's own count and the launch's rule, so
// its bits do too.
#pragma once

#include "wgrad/shared/params.hpp"
#include "wgrad/shared/schedule.hpp"

namespace wgrad::shared {

constexpr u32 token_parts(TokenSplit split, u32 tokens) {
  return max_of(1u, min_of(u32{split.most}, tokens / u32{kTileK} / u32{split.least}));
}

// The region: for each CTA of a cluster and set a counter of each part, then as many parts' sums.
template <TileConfig C>
constexpr u64 sums_in_workspace(const C& c, TokenSplit split) {
  return u64{split.most} * split.sets * static_cast<u64>(cluster_ctas(c));
}
template <TileConfig C>
constexpr u64 sum_counters_bytes(const C& c, TokenSplit split) {
  return round_up(4 * sums_in_workspace(c, split), u64{256});
}
template <TileConfig C>
constexpr u64 part_sums_bytes(const C& c) {
  return u64{4} * static_cast<u64>(c.tile_m) * static_cast<u64>(c.tile_n);
}
template <TileConfig C>
constexpr u64 partial_sums_bytes(const C& c, TokenSplit split) {
  return sum_counters_bytes(c, split) + part_sums_bytes(c) * sums_in_workspace(c, split);
}

}  // namespace wgrad::shared
