#include "wgrad/shared/tensor_map.hpp"

#include <gtest/gtest.h>

#include "device/configs.hpp"
#include "wgrad/shared/schedule.hpp"

namespace wgrad::shared {
namespace {

// Limits of cuTensorMapEncodeTiled.
void expect_encodable(const TensorMapRecipe& r, u32 element_bytes) {
  if (r.rank == 0) return;
  ASSERT_LE(r.rank, 5u);
  for (u32 i = 0; i < r.rank; ++i) {
    EXPECT_GE(r.dims[i], 1u);
    EXPECT_LE(r.dims[i], u64{1} << 32);
    EXPECT_GE(r.box[i], 1u);
    EXPECT_LE(r.box[i], 256u);
    if (i + 1 < r.rank) {
      EXPECT_EQ(r.strides[i] % 16, 0u);
      EXPECT_LT(r.strides[i], u64{1} << 40);
    }
  }
  EXPECT_LE(r.box[0] * element_bytes, static_cast<u32>(kSwizzleBytes));
}

TEST(TensorMap, EveryRecipeCanBeEncoded) {
  for (const Config& c : all_configs()) {
    for (const i64 extent : {i64{64}, i64{2880}, i64{1} << 20}) {
      expect_encodable(a_map(c, extent, 1000, c.a == OperandLayout::kKMajor ? 1000 : extent), 2);
      expect_encodable(b_map(c, extent, 1000, c.b == OperandLayout::kKMajor ? 1000 : extent), 2);
      expect_encodable(output_map(c, extent, extent, extent * output_bytes(c)),
                       static_cast<u32>(output_bytes(c)));
    }
  }
}

// The ragged form: coordinates of token t of an expert that ends at `end` give t's address, modulo
// 2^64.
TEST(TensorMap, RaggedCoordinatesWrapToTheToken) {
  const i64 ld = 4096;
  const TensorMapRecipe r = operand_map(OperandLayout::kMnMajorBlocked, MapElement::kBf16,
                                        {128, kTileK}, 4096, 100000, ld);
  for (const u64 end : {u64{37}, u64{100}, u64{99999}}) {
    for (const u64 token : {u64{0}, end - 1, end - 37}) {
      const u64 left = end - token;
      const u64 address = (kRaggedTokens - left) * r.strides[0] + kRaggedTokens * r.strides[2] +
                          (token + left) * r.strides[3];
      EXPECT_EQ(address, token * static_cast<u64>(ld) * 2);
    }
  }
}

/// Pitches that 32 bits do not hold stand in the map in full, of operands and outputs.
TEST(TensorMap, PitchesPast2To32Bytes) {
  constexpr i64 kLd = (i64{1} << 32) + 64;
  for (const Config& c : all_configs()) {
    const TensorMapRecipe a = a_map(c, 4096, 1000, kLd), b = b_map(c, 4096, 1000, kLd);
    if (a.rank > 0) {
      EXPECT_EQ(a.strides[0], u64{2} * kLd);
      expect_encodable(a, 2);
    }
    if (b.rank > 0) {
      EXPECT_EQ(b.strides[0], u64{2} * kLd);
      expect_encodable(b, 2);
    }
    const i64 pitch = kLd * output_bytes(c);
    EXPECT_EQ(output_map(c, 4096, 4096, pitch).strides[0], static_cast<u64>(pitch));
  }
}

TEST(TensorMap, TokensAndRowsUpToTheLargestExtent) {
  for (const OperandLayout layout :
       {OperandLayout::kMnMajorBlocked, OperandLayout::kMnMajor, OperandLayout::kKMajor}) {
    const TensorMapRecipe r = operand_map(layout, MapElement::kBf16, {128, kTileK},
                                          kMaxExtent / 64 * 64, kMaxExtent, kMaxExtent / 8 * 8);
    expect_encodable(r, 2);
  }
}

TEST(TensorMap, BoxesFillTheStage) {
  for (const Config& c : all_configs()) {
    if (c.b != OperandLayout::kMnMajorBlocked) continue;
    const TensorMapRecipe r = b_map(c, 4096, 1000, 4096);
    const u32 parts = uses_multicast(c) ? 2 : 1;
    EXPECT_EQ(r.box[0] * r.box[1] * r.box[2] * 2 * parts, b_stage_bytes(c));
  }
}

TEST(TensorMap, RaggedKMajorNeedsNone) {
  EXPECT_EQ(
      operand_map(OperandLayout::kKMajorRagged, MapElement::kBf16, {128, 64}, 128, 64, 64).rank,
      0u);
}

TEST(TensorMap, MnMajorLayoutFollowsTheWidth) {
  EXPECT_EQ(mn_major_layout(2880), OperandLayout::kMnMajorBlocked);
  EXPECT_EQ(mn_major_layout(200), OperandLayout::kMnMajor);
}

}  // namespace
}  // namespace wgrad::shared
