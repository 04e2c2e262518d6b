#include "emu/memory/tensor_map.hpp"

#include <gtest/gtest.h>

#include "emu/fault.hpp"
#include "emu/tensor/matrix_descriptor.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::emu {
namespace {

TensorMapFields plain() {
  TensorMapFields f;
  f.base = 1 << 20;
  f.rank = 2;
  f.element = Element::kBf16;
  f.dims = {100, 50, 0, 0, 0};
  f.strides = {256, 0, 0, 0};
  f.box = {64, 8, 0, 0, 0};
  return f;
}

TEST(TensorMap, SurvivesEncoding) {
  const shared::TensorMap map = encode(plain());
  const TensorMapFields f = decode(map);
  EXPECT_EQ(f.base, plain().base);
  EXPECT_EQ(f.dims, plain().dims);
  EXPECT_EQ(f.strides, plain().strides);
  EXPECT_EQ(f.box, plain().box);
  EXPECT_THROW(decode(shared::TensorMap{}), FaultError);
}

TEST(TensorMap, RefusesWhatTheDriverRefuses) {
  const auto refused = [](auto change) {
    TensorMapFields f = plain();
    change(f);
    EXPECT_THROW(encode(f), FaultError);
  };
  refused([](auto& f) { f.base += 8; });
  refused([](auto& f) { f.rank = 6; });
  refused([](auto& f) { f.strides[0] = 100; });
  refused([](auto& f) { f.strides[0] = std::uint64_t{1} << 40; });
  refused([](auto& f) { f.box[1] = 257; });
  refused([](auto& f) { f.dims[1] = 0; });
  refused([](auto& f) { f.box[0] = 32; });
}

TEST(TensorMap, CutsRowsAtTheTensor) {
  const TensorMapFields f = plain();
  const std::int32_t right[] = {64, 48};
  EXPECT_EQ(box_row(f, right, 0).last, 72u);  // 36 of 64 elements
  EXPECT_EQ(box_row(f, right, 0).address, f.base + 128 + 48 * 256);
  EXPECT_EQ(box_row(f, right, 2).last, 0u);  // row 50
  const std::int32_t left[] = {-8, -1};
  EXPECT_EQ(box_row(f, left, 0).last, 0u);
  EXPECT_EQ(box_row(f, left, 1).first, 16u);
  EXPECT_EQ(box_row(f, left, 1).last, 128u);
}

TEST(TensorMap, TrapsOffASixteenByteAddress) {
  const TensorMapFields f = plain();
  const std::int32_t even[] = {8, 3};
  const std::int32_t odd[] = {5, 3};
  EXPECT_NO_THROW(require_aligned_box(f, even));
  EXPECT_THROW(require_aligned_box(f, odd), FaultError);
}

// The planner's ragged maps: addresses wrap modulo 2^64 and rows stop at the expert's end.
TEST(TensorMap, RaggedRecipesWrapAndStop) {
  constexpr std::int64_t kExtent = 192, kTokens = 1000, kPitch = 200;
  const std::uint64_t base = std::uint64_t{1} << 44;
  for (const auto layout :
       {shared::OperandLayout::kMnMajorBlocked, shared::OperandLayout::kMnMajor}) {
    const bool blocked = layout == shared::OperandLayout::kMnMajorBlocked;
    const TensorMapFields f = decode(encode(
        shared::operand_map(layout, shared::MapElement::kBf16, {128, 64}, kExtent, kTokens, kPitch),
        base));
    for (const std::int32_t begin : {0, 3, 517}) {
      for (const std::int32_t left : {64, 40, 1, 0, -30}) {
        const std::int32_t end = begin + left, bound = 1 << 30;
        const std::int32_t five[] = {0, bound - left, 1, bound, end};
        const std::int32_t four[] = {64, bound - left, bound, end, 0};
        for (std::uint32_t t = 0; t < 64; ++t) {
          const BoxRow row = box_row(f, blocked ? five : four, t);
          if (static_cast<std::int32_t>(t) >= left) {
            EXPECT_EQ(row.last, 0u);
            continue;
          }
          EXPECT_EQ(row.last, 128u);
          EXPECT_EQ(row.address, base + (static_cast<std::uint64_t>(begin) + t) * kPitch * 2 + 128);
        }
      }
    }
  }
}

// The output map reaches any address through its two outer coordinates.
TEST(TensorMap, OutputCoordinatesAreAddresses) {
  const shared::Config config{.tile_n = 64};
  const std::uint64_t base = (std::uint64_t{1} << 40) + 4096;
  const TensorMapFields f = decode(encode(shared::output_map(config, 100, 72, 160), base));
  for (const std::uint64_t address :
       {base, base - 16, base + (std::uint64_t{1} << 36) + 48, std::uint64_t{65536}}) {
    const shared::AddressCoord at = shared::address_coord(address, base);
    const std::int32_t x[] = {64, 30, at.lo, at.hi};
    const BoxRow row = box_row(f, x, 2);
    EXPECT_EQ(row.address, address + 32 * 160 + 128);
    EXPECT_EQ(row.last, 16u);  // columns 64 to 71
  }
}

TEST(MatrixDescriptor, FollowsTheCanonicalLayouts) {
  const auto bits = [](std::uint64_t start, std::uint64_t leading, std::uint64_t stride,
                       std::uint64_t mode) {
    return start >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | mode << 62;
  };
  // K-major, 128-byte swizzle: row r is 128 bytes, its chunks exchanged by r % 8.
  const auto k128 = MatrixDescriptor::decode(bits(2048, 16, 1024, 1), false);
  EXPECT_EQ(k128.chunk(0, 0), 2048u);
  EXPECT_EQ(k128.chunk(3, 8), 2048u + 3 * 128 + ((1 ^ 3) << 4));
  EXPECT_EQ(k128.chunk(11, 0), 2048u + 1024 + 3 * 128 + (3 << 4));
  // The second k step starts 32 bytes into the atom.
  const auto next = MatrixDescriptor::decode(bits(2048 + 32, 16, 1024, 1), false);
  EXPECT_EQ(next.chunk(5, 8), 2048u + 5 * 128 + ((3 ^ 5) << 4));
  // MN-major: 64 columns a row, `leading` to the next 64, `stride` to the next 8 of K.
  const auto mn128 = MatrixDescriptor::decode(bits(4096, 8192, 1024, 1), true);
  EXPECT_EQ(mn128.chunk(72, 9), 4096u + 8192 + 1024 + 128 + ((1 ^ 1) << 4));
  // No swizzle: 8 x 16-byte core matrices.
  const auto plain_k = MatrixDescriptor::decode(bits(1024, 256, 512, 0), false);
  EXPECT_EQ(plain_k.chunk(9, 8), 1024u + 512 + 16 + 256);
  EXPECT_THROW(MatrixDescriptor::decode(std::uint64_t{1} << 14, false), FaultError);
  EXPECT_THROW(MatrixDescriptor::decode(std::uint64_t{1} << 49, false), FaultError);
}

}  // namespace
}  // namespace wgrad::emu
