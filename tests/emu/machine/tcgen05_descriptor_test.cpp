// Bits of tcgen05's descriptors that the machine refuses: reserved ones, illegal shapes and majors,
// what it does not model. PTX ISA, 9.7.16.4.1, 9.7.16.4.2, 9.7.16.2.1.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "emu/fault.hpp"
#include "emu/tensor/instruction_descriptor.hpp"
#include "emu/tensor/matrix_descriptor.hpp"
#include "wgrad/shared/instruction_descriptor.hpp"
#include "wgrad/shared/matrix_descriptor.hpp"

namespace wgrad::emu {
namespace {

using namespace wgrad::shared;

constexpr MmaMajors kBothK{false, false};
constexpr MmaMajors kBothMn{true, true};

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const FaultError& error) {
    return error.what();
  }
  return "";
}

std::string refusal(u32 bits, MmaKind kind = MmaKind::kF16, u32 ctas = 1) {
  return refusal([&] { InstructionDescriptor::decode(bits, kind, ctas); });
}
std::string matrix_refusal(u64 bits) {
  return refusal([&] { MatrixDescriptor::decode_tcgen05(bits, false, "A"); });
}
bool has(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}
u32 f16(u32 m, u32 n) {
  return f16_instruction(InputType::kBf16, {m, n}, kBothMn);
}
u32 mxf8(u32 m, u32 n, const MmaMajors& major = kBothK) {
  return mxf8f6f4_instruction(ElementType::kE4m3, ElementType::kE5m2, {m, n}, major);
}

TEST(InstructionBits, DecodeToWhatWasEncoded) {
  const auto d = InstructionDescriptor::decode(f16(256, 240), MmaKind::kF16, 2);
  EXPECT_EQ(d.m, 256U);
  EXPECT_EQ(d.n, 240U);
  EXPECT_TRUE(d.a == MmaElement::kBf16 && d.b == MmaElement::kBf16);
  EXPECT_TRUE(d.a_mn_major && d.b_mn_major);
  const auto s = InstructionDescriptor::decode(
      with_scale_bytes(mxf8(128, 72, {false, false}), 3, 1), MmaKind::kMxf8f6f4, 1);
  EXPECT_EQ(s.m, 128U);
  EXPECT_EQ(s.n, 72U);
  EXPECT_TRUE(s.a == MmaElement::kE4m3 && s.b == MmaElement::kE5m2 && s.e8m0);
  EXPECT_EQ(s.scale_byte_a, 3U);
  EXPECT_EQ(s.scale_byte_b, 1U);
}

TEST(InstructionBits, ReservedAndUnmodelledOnesAreRefused) {
  for (const u32 bit : {3U, 6U, 23U, 29U, 30U, 31U})
    EXPECT_TRUE(has(refusal(f16(128, 64) | 1U << bit), "must be 0")) << bit;
  for (const u32 bit : {0U, 2U, 13U, 14U})
    EXPECT_TRUE(has(refusal(f16(128, 64) | 1U << bit), "not modelled")) << bit;
  EXPECT_TRUE(has(refusal(f16(128, 64) & ~(1U << 4)), "must be FP32"));
  EXPECT_TRUE(has(refusal(f16(128, 64) & ~(1U << 7)), "both be FP16"));
  for (const u32 bit : {3U, 6U, 24U, 25U, 26U, 31U})
    EXPECT_TRUE(has(refusal(mxf8(128, 64) | 1U << bit, MmaKind::kMxf8f6f4), "must be 0")) << bit;
  EXPECT_TRUE(has(refusal(mxf8(128, 64) & ~(1U << 23), MmaKind::kMxf8f6f4), "e8m0"));
  EXPECT_TRUE(has(refusal(mxf8(128, 64) | 5U << 7, MmaKind::kMxf8f6f4), "element type 5"));
}

TEST(InstructionBits, ShapesFollowKindAndPair) {
  for (const u32 n : {16U, 96U, 256U}) EXPECT_EQ(refusal(f16(128, n)), "");
  for (const u32 n : {8U, 24U, 256U}) EXPECT_EQ(refusal(f16(64, n)), "");
  for (const u32 n : {0U, 8U, 24U, 264U}) EXPECT_TRUE(has(refusal(f16(128, n)), "N = ")) << n;
  for (const u32 m : {16U, 96U, 256U}) EXPECT_TRUE(has(refusal(f16(m, 64)), "M = ")) << m;
  for (const u32 m : {128U, 256U}) EXPECT_EQ(refusal(f16(m, 48), MmaKind::kF16, 2), "");
  EXPECT_TRUE(has(refusal(f16(64, 64), MmaKind::kF16, 2), "M = 64"));
  EXPECT_TRUE(has(refusal(f16(256, 24), MmaKind::kF16, 2), "N = 24"));
  const MmaMajors b_mn{false, true};
  EXPECT_EQ(refusal(mxf8(128, 24), MmaKind::kMxf8f6f4), "");
  EXPECT_TRUE(has(refusal(mxf8(128, 24, b_mn), MmaKind::kMxf8f6f4), "multiple of 16"));
  EXPECT_TRUE(has(refusal(mxf8(256, 48, b_mn), MmaKind::kMxf8f6f4, 2), "multiple of 32"));
  EXPECT_TRUE(has(refusal(mxf8(256, 64), MmaKind::kMxf8f6f4, 1), "M = 256"));
}

TEST(InstructionBits, PackedFp4IsKMajor) {
  const u32 mx = mxf4_instruction(ScaleType::kE8m0, {128, 64});
  const u32 nv = mxf4_instruction(ScaleType::kE4m3, {128, 64});
  EXPECT_EQ(refusal(mx, MmaKind::kMxf4), "");
  EXPECT_EQ(refusal(nv, MmaKind::kMxf4nvf4), "");
  EXPECT_TRUE(has(refusal(mx | 1U << 15, MmaKind::kMxf4), "K-major"));
  EXPECT_TRUE(has(refusal(mx | 1U << 16, MmaKind::kMxf4), "K-major"));
  EXPECT_TRUE(has(refusal(mx | 1U << 31, MmaKind::kMxf4), "not modelled"));  // K of 96
  EXPECT_TRUE(has(refusal(nv, MmaKind::kMxf4), "e8m0"));
  EXPECT_EQ(refusal(mx, MmaKind::kMxf4nvf4), "");  // e8m0 every 16: PTX ISA 9.7.16.10
  EXPECT_TRUE(has(refusal(with_scale_bytes(mx, 1, 0), MmaKind::kMxf4), "byte 0 or 2"));
  EXPECT_TRUE(has(refusal(with_scale_bytes(nv, 0, 2), MmaKind::kMxf4nvf4), "byte 0"));
}

TEST(MatrixBits, ReservedAndUnmodelledOnesAreRefused) {
  const u64 good = matrix_descriptor(kKMajor128, 0x2000);
  EXPECT_EQ(matrix_refusal(good), "");
  for (const u32 bit : {14U, 15U, 30U, 31U, 53U, 57U, 60U})
    EXPECT_TRUE(has(matrix_refusal(good | u64{1} << bit), "reserved bits")) << bit;
  EXPECT_TRUE(has(matrix_refusal(good & ~(u64{1} << 46)), "0b001"));
  EXPECT_TRUE(has(matrix_refusal(good | u64{1} << 47), "0b001"));
  EXPECT_TRUE(has(matrix_refusal(good | u64{1} << 49), "base offset"));
  EXPECT_TRUE(has(matrix_refusal(good | u64{1} << 52), "absolute leading"));
  EXPECT_TRUE(has(matrix_refusal(good | u64{1} << 61), "no swizzle"));
}

TEST(MatrixBits, ATileBeginsWithItsSwizzlePattern) {
  EXPECT_EQ(matrix_refusal(matrix_descriptor(kKMajor128, 0x2060)), "");
  EXPECT_TRUE(has(matrix_refusal(matrix_descriptor(kKMajor128, 0x2080)), "inside a swizzle"));
  EXPECT_EQ(matrix_refusal(matrix_descriptor({0, 256, MatrixSwizzle::k32}, 0x2100)), "");
  EXPECT_TRUE(has(matrix_refusal(matrix_descriptor({0, 512, MatrixSwizzle::k64}, 0x2100)),
                  "inside a swizzle"));
}

}  // namespace
}  // namespace wgrad::emu
