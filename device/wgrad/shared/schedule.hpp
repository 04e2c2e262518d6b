// Where tile number `index` lies: a walk over the tiles of all experts that persistent CTAs share.
// Pure arithmetic.
#pragma once

#include "wgrad/shared/kernel_config.hpp"

namespace wgrad::shared {

// The largest M, N and T: tiles that reach beyond the end are counted in 32 bits too.
inline constexpr i32 kMaxExtent = 2147483647 - 511;

// Every expert has the same grid of cluster tiles; experts follow each other in schedule slots
// (largest k_e first).
struct TileGrid {
  u32 rows;      // cluster tiles along M
  u32 columns;   // tiles along N
  u32 raster_m;  // rows of one raster group
  u32 experts;
};

struct TileCoord {
  u32 slot;    // schedule slot, to be mapped to an expert
  u32 row;     // cluster tile along M
  u32 column;  // tile along N
};

template <TileConfig C>
constexpr TileGrid tile_grid(const C& c, i32 m, i32 n, i32 experts, i32 raster_m) {
  return {static_cast<u32>(ceil_div(m, c.tile_m * c.cluster_m)),
          static_cast<u32>(ceil_div(n, c.tile_n)), static_cast<u32>(raster_m),
          static_cast<u32>(experts)};
}

constexpr u32 tiles_per_expert(const TileGrid& g) {
  return g.rows * g.columns;
}
constexpr u32 tile_count(const TileGrid& g) {
  return tiles_per_expert(g) * g.experts;
}

// Within an expert, raster_m rows are walked row-fastest over all columns, so that the tiles in
// flight touch few A rows and few B columns and meet in L2.
constexpr TileCoord tile_at(const TileGrid& g, u32 index) {
  const u32 slot = index / tiles_per_expert(g);
  const u32 local = index - slot * tiles_per_expert(g);
  const u32 group = local / (g.raster_m * g.columns);
  const u32 first_row = group * g.raster_m;
  const u32 height = min_of(g.raster_m, g.rows - first_row);
  const u32 inside = local - first_row * g.columns;
  const u32 column = inside / height;
  return {slot, first_row + (inside - column * height), column};
}

// Multiprocessors that a launch may use, and those of the whole device; 0: a cluster finds room on
// any of them.
struct Sms {
  i32 all;
  i32 device;
};

constexpr Sms sms_of_device(i32 count, i32 usable) {
  return {usable, count};
}

// A cluster lies in one GPC, which leaves multiprocessors over: so many clusters of each size find
// room on an H200 (cudaOccupancyMaxActiveClusters).
inline constexpr i32 kCountedSms = 132;
inline constexpr i32 kCountedClusters[kMostShares + 1] = {0, 132, 66, 39, 30, 22, 17, 15, 15};

template <TileConfig C>
constexpr u32 clusters_at_once(const C& c, Sms sms) {
  const i32 cluster = cluster_ctas(c);
  const i32 most = sms.all / cluster;
  const i32 room = sms.device * kCountedClusters[cluster] / kCountedSms;
  return static_cast<u32>(max_of(1, sms.device > 0 && cluster > 2 ? min_of(most, room) : most));
}

// CTAs to launch: one for each SM, whole clusters, no more than there are cluster tiles.
template <TileConfig C>
constexpr u32 grid_ctas(const C& c, const TileGrid& g, Sms sms) {
  const u32 clusters = max_of(1u, min_of(clusters_at_once(c, sms), tile_count(g)));
  return clusters * static_cast<u32>(cluster_ctas(c));
}

// Rows of a raster group: the tiles in flight should form a square in elements.
template <TileConfig C>
constexpr i32 default_raster_m(const C& c, Sms sms) {
  const i32 tiles = sms.all / c.split_k;
  i32 rows = 1;
  while ((rows + 1) * c.tile_m * (rows + 1) * c.tile_m <= tiles * c.tile_m * c.tile_n) ++rows;
  return max_of(1, rows / c.cluster_m);
}

struct TokenRange {
  i32 begin;
  i32 end;
};

// Expert's tokens from two neighbouring offsets, whatever they hold: never outside [0, tokens],
// never reversed.
constexpr TokenRange token_range(i32 previous_end, i32 end, i64 tokens) {
  const i32 limit = static_cast<i32>(tokens);
  const i32 first = min_of(max_of(previous_end, 0), limit);
  const i32 last = min_of(max_of(end, 0), limit);
  return {first, max_of(first, last)};
}

// split_k: the tokens of one CTA of a cluster, in whole units of 64 that count from the first one:
// so the sums depend on the number of tokens alone.
constexpr TokenRange token_share(TokenRange r, u32 rank, i32 split_k) {
  const i64 units = (i64{r.end} - r.begin + kTileK - 1) / kTileK;
  const auto start = [&](i64 share) {
    const i64 ahead = units * share / split_k * kTileK;
    return static_cast<i32>(min_of(r.begin + ahead, i64{r.end}));
  };
  return {start(rank), start(i64{rank} + 1)};
}

// Where the k loop starts, and how many stages it takes. `alignment` (k_major_alignment) matters to
// a K-major tensor2d operand alone.
template <TileConfig C>
constexpr i32 first_token(const C& c, TokenRange r, i32 alignment) {
  return aligns_first_token(c) ? r.begin - r.begin % alignment : r.begin;
}
// Tokens from there to the first window, which count from begin (common/align.cuh).
template <TileConfig C>
constexpr i32 token_shift(const C& c, TokenRange r, i32 alignment) {
  return (r.begin - first_token(c, r, alignment)) % window_tokens(bits_of(c.input));
}
template <TileConfig C>
constexpr i32 k_blocks(const C& c, TokenRange r, i32 alignment) {
  return r.end == r.begin ? 0 : (r.end - first_token(c, r, alignment) - 1) / c.tile_k + 1;
}

// A K-major box must start at a multiple of 16 bytes. It loads twice as fast when its rows start at
// 128-byte lines, which a start at a multiple of 128 bytes gives where the operand's own rows do.
constexpr i32 k_major_alignment(u64 address, i64 ld, i32 bits = 16) {
  return address % kSwizzleBytes == 0 && ld % row_tokens(bits) == 0 ? row_tokens(bits)
                                                                    : unit_tokens(bits);
}

// The least of the K-major tensor2d operands'; the greatest where there is none.
template <TileConfig C>
constexpr i32 operands_alignment(const C& c, u64 a, i64 ld_a, u64 b, i64 ld_b) {
  const i32 bits = bits_of(c.input);
  i32 least = row_tokens(bits);
  if (c.a == OperandLayout::kKMajor) least = min_of(least, k_major_alignment(a, ld_a, bits));
  if (c.b == OperandLayout::kKMajor) least = min_of(least, k_major_alignment(b, ld_b, bits));
  return least;
}

// An address as the two outer coordinates of the output map: lo * 16 + hi * 2^34, modulo 2^64.
struct AddressCoord {
  i32 lo;
  i32 hi;
};
inline constexpr u32 kAddressCoordBits = 30;
constexpr AddressCoord address_coord(u64 address, u64 map_base) {
  const u64 units = (address - map_base) >> 4;
  const u64 mask = (u64{1} << kAddressCoordBits) - 1;
  return {static_cast<i32>(units & mask), static_cast<i32>(units >> kAddressCoordBits)};
}

}  // namespace wgrad::shared
