#include "wgrad/scale_layout.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "scales/scale_blocks.hpp"
#include "support/refusal.hpp"
#include "wgrad/errors.hpp"

namespace wgrad {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// A second opinion on one expert's block: walks the storage in order and says which (row, col)
/// each byte holds, as the figure of the layout draws it.
std::vector<std::pair<std::int64_t, std::int64_t>> storage_order(std::int64_t row_blocks,
                                                                 std::int64_t col_blocks) {
  std::vector<std::pair<std::int64_t, std::int64_t>> order;
  for (std::int64_t rb = 0; rb < row_blocks; ++rb)
    for (std::int64_t cb = 0; cb < col_blocks; ++cb)
      for (std::int64_t lane = 0; lane < 32; ++lane)
        for (std::int64_t quarter = 0; quarter < 4; ++quarter)
          for (std::int64_t c = 0; c < 4; ++c)
            order.emplace_back(rb * 128 + quarter * 32 + lane, cb * 4 + c);
  return order;
}

TEST(ScaleLayout, OffsetsWalkTheAtomsInOrder) {
  const auto order = storage_order(3, 5);
  for (std::size_t byte = 0; byte < order.size(); ++byte) {
    ASSERT_EQ(swizzled_scale_offset(order[byte].first, order[byte].second, 20),
              static_cast<std::int64_t>(byte));
  }
}

TEST(ScaleLayout, ColumnsFollowTheOffsets) {
  const std::vector<std::int32_t> offsets = {0, 37, 37, 165, 166};
  EXPECT_EQ(scale_cols(offsets, 32, ScaleLayout::kCompact), 0 + 2 + 0 + 4 + 1);
  EXPECT_EQ(scale_cols(offsets, 32, ScaleLayout::kSwizzled), 0 + 4 + 0 + 4 + 4);
  EXPECT_EQ(scale_cols(offsets, 16, ScaleLayout::kCompact), 0 + 3 + 0 + 8 + 1);
  EXPECT_EQ(scale_cols(offsets, 16, ScaleLayout::kSwizzled), 0 + 4 + 0 + 8 + 4);
  EXPECT_EQ(scale_cols({}, 32, ScaleLayout::kSwizzled), 0);
}

TEST(ScaleLayout, BlocksFollowEachOther) {
  const std::vector<std::int32_t> offsets = {70, 70, 400};
  const auto swizzled = scales::scale_blocks(offsets, {200, 0, 32, ScaleLayout::kSwizzled});
  EXPECT_EQ(swizzled[0].base, 0);
  EXPECT_EQ(swizzled[1].base, 256 * 4);
  EXPECT_EQ(swizzled[2].base, 256 * 4);
  EXPECT_EQ(swizzled[2].pitch, 12);
  EXPECT_EQ(swizzled[2].cols, 11);
  const auto compact = scales::scale_blocks(offsets, {200, 50, 32, ScaleLayout::kCompact});
  EXPECT_EQ(compact[2].base, 3);
  EXPECT_EQ(compact[2].offset(7, 2), 3 + 7 * 50 + 2);
}

struct LayoutCase {
  std::int64_t rows;
  int vec;
  std::vector<std::int32_t> offsets;
};

/// Swizzled bytes by the second opinion: experts one after another, padding 0xFF.
Bytes swizzled_by_walking(const Bytes& compact, const LayoutCase& c) {
  Bytes out;
  const std::int64_t pitch = scale_cols(c.offsets, c.vec, ScaleLayout::kCompact);
  std::int64_t begin = 0;
  std::int64_t first_col = 0;
  for (const std::int64_t end : c.offsets) {
    const std::int64_t cols = (end - begin + c.vec - 1) / c.vec;
    for (const auto& [row, col] : storage_order((c.rows + 127) / 128, (cols + 3) / 4)) {
      const bool inside = row < c.rows && col < cols;
      out.push_back(inside ? compact[row * pitch + first_col + col] : 0xFF);
    }
    first_col += cols;
    begin = end;
  }
  return out;
}

TEST(ScaleLayout, SwizzleRoundTripsForAnyCounts) {
  const LayoutCase cases[] = {{1, 32, {1}},
                              {128, 32, {128, 256}},
                              {200, 16, {0, 37, 37, 300, 301}},
                              {300, 32, {1000, 1000, 1001}},
                              {64, 16, {}}};
  std::mt19937 random(7);
  for (const LayoutCase& c : cases) {
    const std::int64_t cols = scale_cols(c.offsets, c.vec, ScaleLayout::kCompact);
    const std::int64_t padded = scale_cols(c.offsets, c.vec, ScaleLayout::kSwizzled);
    Bytes compact(c.rows * cols);
    for (auto& byte : compact) byte = static_cast<std::uint8_t>(random() % 255);
    Bytes swizzled(scale_bytes(c.rows, padded, ScaleLayout::kSwizzled), 0x55);
    swizzle_scales(compact, c.rows, c.offsets, c.vec, swizzled, 0xFF);
    EXPECT_EQ(swizzled, swizzled_by_walking(compact, c)) << "rows " << c.rows;
    Bytes back(compact.size(), 0x55);
    unswizzle_scales(swizzled, c.rows, c.offsets, c.vec, back);
    EXPECT_EQ(back, compact) << "rows " << c.rows;
  }
}

template <class Call>
std::string message(const Call& call) {
  return test::refusal<ValueError>(call);
}

TEST(ScaleLayout, RefusesShortSpansAndBadOffsetsByName) {
  const std::vector<std::int32_t> offsets = {64, 128};
  Bytes compact(256);
  Bytes swizzled(1024);
  Bytes short_compact(255);
  Bytes short_swizzled(1023);
  EXPECT_EQ(message([&] { swizzle_scales(short_compact, 64, offsets, 32, swizzled); }),
            "wgrad: compact is 255 bytes long; it must be at least 256 bytes long for these rows "
            "and offsets");
  EXPECT_EQ(message([&] { unswizzle_scales(short_swizzled, 64, offsets, 32, compact); }),
            "wgrad: swizzled is 1023 bytes long; it must be at least 1024 bytes long for these "
            "rows and offsets");
  const std::vector<std::int32_t> decreasing = {64, 32};
  EXPECT_EQ(message([&] { swizzle_scales(compact, 64, decreasing, 32, swizzled); }),
            "wgrad: offsets[1] is 32; it must be from 64, the end of the expert before it, to T = "
            "2147483647");
}

TEST(ScaleLayout, RefusesVectorsAndRowsThatCannotBe) {
  const std::vector<std::int32_t> offsets = {64};
  std::vector<std::uint8_t> bytes(512);
  EXPECT_EQ(message([&] { scale_cols(offsets, 0, ScaleLayout::kCompact); }),
            "wgrad: vec_size is 0; it must be 1 or more");
  EXPECT_EQ(message([&] { swizzle_scales(bytes, 16, offsets, -32, bytes); }),
            "wgrad: vec_size is -32; it must be 1 or more");
  EXPECT_EQ(message([&] { unswizzle_scales(bytes, -1, offsets, 32, bytes); }),
            "wgrad: rows is -1; it must be 0 or more");
  EXPECT_EQ(message([&] { swizzle_scales(bytes, -2, offsets, 32, bytes); }),
            "wgrad: rows is -2; it must be 0 or more");
  for (const std::int64_t rows : {INT64_MAX, INT64_MAX - 127, INT64_C(1) << 62U}) {
    for (const std::int32_t end : {1, 64, 256}) {  // 2^62 rows of 4 columns wrap around to nothing
      const std::vector<std::int32_t> ends = {end};
      EXPECT_EQ(message([&] {
                  swizzle_scales(bytes, rows, ends, 32, bytes);
                }).rfind("wgrad: compact is 512 bytes long; it must be at least", 0),
                0U);
      EXPECT_EQ(message([&] {
                  unswizzle_scales(bytes, rows, ends, 32, bytes);
                }).rfind("wgrad: compact is 512 bytes long; it must be at least", 0),
                0U);
    }
  }
}

TEST(ScaleLayout, WithoutTokensAnyNumberOfRowsIsNothing) {
  const std::vector<std::int32_t> offsets = {0, 0};
  swizzle_scales({}, INT64_MAX, offsets, 32, {});
  unswizzle_scales({}, INT64_MAX, offsets, 32, {});
}

}  // namespace
}  // namespace wgrad
