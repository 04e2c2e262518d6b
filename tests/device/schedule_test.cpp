#include "wgrad/shared/schedule.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <tuple>

#include "wgrad/sm90/config.hpp"

namespace wgrad::shared {
namespace {

constexpr Config kConfig{};
constexpr Config kKMajorConfig{.a = OperandLayout::kKMajor};

TEST(Schedule, VisitsEveryTileOnce) {
  for (const u32 rows : {1u, 2u, 7u, 32u}) {
    for (const u32 columns : {1u, 3u, 28u}) {
      for (const u32 raster : {1u, 4u, 8u, 100u}) {
        const TileGrid grid{rows, columns, raster, 3};
        std::set<std::tuple<u32, u32, u32>> seen;
        for (u32 i = 0; i < tile_count(grid); ++i) {
          const TileCoord t = tile_at(grid, i);
          ASSERT_LT(t.slot, grid.experts);
          ASSERT_LT(t.row, rows);
          ASSERT_LT(t.column, columns);
          seen.insert({t.slot, t.row, t.column});
        }
        EXPECT_EQ(seen.size(), tile_count(grid));
      }
    }
  }
}

TEST(Schedule, NeighboursShareRowsOfOneRasterGroup) {
  const TileGrid grid{32, 28, 8, 1};
  for (u32 i = 0; i < 8 * 28; ++i) EXPECT_LT(tile_at(grid, i).row, 8u);
}

TEST(Schedule, TheLargestExtentsHaveTheirTiles) {
  constexpr TileGrid kGrid = tile_grid(kConfig, kMaxExtent, kMaxExtent, 1, 8);
  EXPECT_EQ(kGrid.rows, (1u << 31) / static_cast<u32>(kConfig.tile_m * kConfig.cluster_m) - 4);
  EXPECT_EQ(kGrid.columns, (1u << 31) / static_cast<u32>(kConfig.tile_n) - 2);
}

/// Index of a tile that tile_at() finds again, in wide arithmetic.
u64 index_of(const TileGrid& g, const TileCoord& t) {
  const u64 first = u64{t.row} / g.raster_m * g.raster_m;
  const u64 height = min_of(u64{g.raster_m}, g.rows - first);
  return (u64{t.slot} * g.rows + first) * g.columns + u64{t.column} * height + (t.row - first);
}

/// 2^31 tiles and more are refused (kMaxTiles): an index and a count of clusters fit into 32 bits.
TEST(Schedule, TheLastTilesOfTheLargestGridsAreFound) {
  for (const TileGrid& grid : {TileGrid{46340, 46340, 11, 1}, TileGrid{1u << 20, 2047, 37, 1},
                               TileGrid{2047, 1u << 20, 3, 1}, TileGrid{1, 1, 8, 2147483647},
                               TileGrid{181, 3, 8, 3954850}}) {
    const u64 tiles = u64{grid.rows} * grid.columns * grid.experts;
    ASSERT_LT(tiles, u64{1} << 31);
    EXPECT_EQ(tile_count(grid), tiles);
    for (const u64 index : {u64{0}, tiles / 2, tiles - 2, tiles - 1}) {
      const TileCoord t = tile_at(grid, static_cast<u32>(index));
      EXPECT_LT(t.slot, grid.experts);
      EXPECT_LT(t.row, grid.rows);
      EXPECT_LT(t.column, grid.columns);
      EXPECT_EQ(index_of(grid, t), index);
    }
  }
}

TEST(Schedule, GridIsWholeClustersAndNoMoreThanTheWork) {
  const Config pair{.cluster_m = 2};
  constexpr Sms kAll = sms_of_device(132, 132);
  EXPECT_EQ(grid_ctas(pair, tile_grid(pair, 4096, 4096, 8, 8), sms_of_device(133, 133)), 132u);
  EXPECT_EQ(grid_ctas(pair, tile_grid(pair, 128, 256, 1, 8), kAll), 2u);
  EXPECT_EQ(grid_ctas(kConfig, tile_grid(kConfig, 1, 1, 3, 8), kAll), 3u);
  const Config four{.split_k = 4};
  const TileGrid many = tile_grid(four, 4096, 4096, 8, 8);
  EXPECT_EQ(grid_ctas(four, many, kAll), 120u) << "four lie in one GPC";
  EXPECT_EQ(grid_ctas(four, tile_grid(four, 1, 1, 3, 8), kAll), 12u);
  EXPECT_EQ(grid_ctas(four, many, sms_of_device(132, 20)), 20u) << "elsewhere there is room";
  EXPECT_EQ(grid_ctas(four, many, sms_of_device(132, 128)), 120u);
  EXPECT_EQ(grid_ctas(four, many, sms_of_device(4, 4)), 4u);
}

TEST(TokenRange, NeverLeavesTheTokens) {
  constexpr i32 kLow = std::numeric_limits<i32>::min(), kHigh = std::numeric_limits<i32>::max();
  for (const i32 previous : {kLow, -1, 0, 5, 100, kHigh}) {
    for (const i32 end : {kLow, -1, 0, 5, 100, kHigh}) {
      for (const i64 tokens : {i64{0}, i64{1}, i64{64}, i64{kHigh}}) {
        const TokenRange r = token_range(previous, end, tokens);
        EXPECT_LE(0, r.begin);
        EXPECT_LE(r.begin, r.end);
        EXPECT_LE(r.end, tokens);
      }
    }
  }
  const TokenRange plain = token_range(3, 40, 100);
  EXPECT_EQ(plain.begin, 3);
  EXPECT_EQ(plain.end, 40);
}

TEST(TokenShare, SharesFollowEachOtherInUnitsThatCountFromTheFirstToken) {
  for (const i32 split_k : {2, 4}) {
    for (const i32 begin : {0, 5, 64, 1000}) {
      for (i32 tokens = 0; tokens < 700; tokens += 7) {
        const TokenRange all{begin, begin + tokens};
        i32 next = begin, most = 0, least = tokens;
        for (i32 rank = 0; rank < split_k; ++rank) {
          const TokenRange r = token_share(all, static_cast<u32>(rank), split_k);
          EXPECT_EQ(r.begin, next);
          EXPECT_TRUE((r.begin - begin) % kTileK == 0 || r.begin == all.end);
          most = max_of(most, r.end - r.begin);
          least = min_of(least, r.end - r.begin);
          next = r.end;
        }
        EXPECT_EQ(next, all.end);
        EXPECT_LE(most - least, 2 * kTileK);
      }
    }
  }
  constexpr i32 kHigh = std::numeric_limits<i32>::max();
  EXPECT_EQ(token_share({0, kHigh}, 3, 4).end, kHigh);
}

TEST(KBlocks, CoverTheTokensFromAnAlignedStart) {
  for (const i32 alignment : {kTokenAlignment, kTileK}) {
    for (i32 begin = 0; begin < 70; ++begin) {
      for (i32 end = begin; end < begin + 140; ++end) {
        const TokenRange r{begin, end};
        EXPECT_EQ(first_token(kConfig, r, alignment), begin);
        const i32 first = first_token(kKMajorConfig, r, alignment);
        EXPECT_EQ(first % alignment, 0);
        EXPECT_LT(begin - first, alignment);
        const i32 shift = token_shift(kKMajorConfig, r, alignment);
        EXPECT_TRUE(shift >= 0 && shift < kWindowTokens && (begin - first - shift) % 16 == 0);
        EXPECT_EQ(token_shift(kConfig, r, alignment), 0);
        const i32 blocks = k_blocks(kKMajorConfig, r, alignment);
        EXPECT_EQ(blocks == 0, begin == end);
        if (blocks > 0) {
          EXPECT_GE(first + blocks * kTileK, end);
          EXPECT_LT(first + (blocks - 1) * kTileK, end);
        }
      }
    }
  }
  EXPECT_EQ(k_blocks(kConfig, {0, std::numeric_limits<i32>::max()}, kTokenAlignment), 1 << 25);
}

TEST(TokenShare, TheLongestExpertIsSharedToTheLastToken) {
  constexpr i32 kHigh = kMaxExtent;
  for (const i32 split_k : {2, 3, 4, 6, 8}) {
    i64 sum = 0;
    for (i32 rank = 0; rank < split_k; ++rank) {
      const TokenRange r = token_share({5, kHigh}, static_cast<u32>(rank), split_k);
      EXPECT_LE(5, r.begin);
      EXPECT_LT(r.begin, r.end);
      sum += r.end - r.begin;
    }
    EXPECT_EQ(sum, kHigh - 5);
  }
}

TEST(KBlocks, LeadingDimensionsPast2To32BytesAlign) {
  EXPECT_EQ(k_major_alignment(u64{1} << 40, (i64{1} << 32) + 64), 64);
  EXPECT_EQ(k_major_alignment(u64{1} << 40, (i64{1} << 32) + 8), 8);
  EXPECT_EQ(k_major_alignment((u64{1} << 40) + 16, i64{1} << 32), 8);
}

TEST(KBlocks, AlignmentFollowsTheRows) {
  EXPECT_EQ(k_major_alignment(0x1000, 32768), 64);
  EXPECT_EQ(k_major_alignment(0x1000, 1000), 8);
  EXPECT_EQ(k_major_alignment(0x1010, 32768), 8);
}

TEST(AddressCoord, ReachesEveryAlignedAddressByWrapping) {
  constexpr u64 kBase = 0x7f0012340010;
  for (const u64 address :
       {kBase, kBase + 16, kBase - 16, u64{0x10}, u64{0x7fffffffffffff0}, kBase - (u64{1} << 34)}) {
    const AddressCoord at = address_coord(address, kBase);
    EXPECT_GE(at.lo, 0);
    EXPECT_GE(at.hi, 0);
    EXPECT_LT(at.lo, 1 << kAddressCoordBits);
    EXPECT_LT(at.hi, 1 << kAddressCoordBits);
    EXPECT_EQ(kBase + static_cast<u64>(at.lo) * 16 + (static_cast<u64>(at.hi) << 34), address);
  }
}

}  // namespace
}  // namespace wgrad::shared
