// Descriptors of tcgen05.mma against bits worked out by hand from the PTX ISA's tables, and against
// the constants of public kernels.
#include <gtest/gtest.h>

#include "wgrad/shared/instruction_descriptor.hpp"
#include "wgrad/shared/matrix_descriptor.hpp"

namespace wgrad::shared {
namespace {

constexpr MmaMajors kBothK{false, false};
constexpr MmaMajors kBothMn{true, true};

TEST(InstructionDescriptor, HoldsTypesMajorsAndShape) {
  EXPECT_EQ(f16_instruction(InputType::kBf16, {256, 256}, kBothMn), 0x10418490u);
  EXPECT_EQ(f16_instruction(InputType::kFp16, {256, 256}, kBothMn), 0x10418010u);
  EXPECT_EQ(f16_instruction(InputType::kBf16, {128, 64}, {true, false}), 0x08108490u);
  EXPECT_EQ(f16_instruction(InputType::kBf16, {64, 8}, {false, true}), 0x04030490u);
}

TEST(InstructionDescriptor, HoldsTheKindsWithScaleFactors) {
  constexpr ElementType kE4m3 = ElementType::kE4m3;
  EXPECT_EQ(mxf8f6f4_instruction(kE4m3, kE4m3, {256, 256}, kBothK), 0x10c00000u);
  EXPECT_EQ(mxf8f6f4_instruction(kE4m3, kE4m3, {256, 256}, kBothMn), 0x10c18000u);
  EXPECT_EQ(mxf8f6f4_instruction(ElementType::kE5m2, ElementType::kE2m1, {128, 128}, kBothK),
            0x08a01480u);
  EXPECT_EQ(mxf4_instruction(ScaleType::kE4m3, {256, 256}), 0x10400480u);
  EXPECT_EQ(mxf4_instruction(ScaleType::kE8m0, {128, 240}), 0x08bc0480u);
}

TEST(InstructionDescriptor, NamesBytesOfTheScaleFactors) {
  const u32 plain = mxf4_instruction(ScaleType::kE8m0, {128, 128});
  EXPECT_EQ(with_scale_bytes(plain, 2, 0) - plain, 0x40000000u);
  EXPECT_EQ(with_scale_bytes(plain, 0, 2) - plain, 0x20u);
  EXPECT_EQ(with_scale_bytes(plain, 3, 1) - plain, 0x60000010u);
}

TEST(MatrixDescriptor, HoldsOffsetsAndSwizzle) {
  EXPECT_EQ(matrix_descriptor(kKMajor128, 0x400), 0x4000404000000040u);
  EXPECT_EQ(matrix_descriptor(mn_major_128(64), 0x800), 0x4000404002000080u);
  // The high word of DeepGEMM's descriptors of scale atoms.
  EXPECT_EQ(matrix_descriptor(kScaleAtoms, 0x400) >> 32, 0x00004008u);
  EXPECT_EQ(descriptor_bits({256, 512, MatrixSwizzle::k32}), 0xc000402000100000u);
  EXPECT_EQ(descriptor_bits({256, 512, MatrixSwizzle::k64}), 0x8000402000100000u);
}

TEST(MatrixDescriptor, TakesTheLow18BitsOfAnAddress) {
  EXPECT_EQ(matrix_descriptor(kKMajor128, (1u << 24) + 0x400),
            matrix_descriptor(kKMajor128, 0x400));
}

TEST(MmaKinds, TakeThirtyTwoBytesOfARow) {
  for (const MmaKind kind :
       {MmaKind::kF16, MmaKind::kMxf8f6f4, MmaKind::kMxf4, MmaKind::kMxf4nvf4}) {
    EXPECT_EQ(mma_depth(kind) * mma_element_bits(kind), 256u);
  }
}

}  // namespace
}  // namespace wgrad::shared
