// The 32-bit instruction descriptor of tcgen05.mma: types, majors, shape. PTX ISA, 9.7.16.4.2
// ("Instruction descriptor"). m and n are the pair's in cta_group::2. D is FP32; nothing is sparse,
// negated or saturated.
#pragma once

#include "wgrad/shared/element.hpp"
#include "wgrad/shared/mma_kind.hpp"
#include "wgrad/shared/operand.hpp"

namespace wgrad::shared {

struct MmaShape {
  u32 m;  // 64, 128, 256
  u32 n;  // 8 to 256
};

struct MmaMajors {
  bool a_mn;  // A has M contiguous; false: K
  bool b_mn;
};

namespace instruction_bits {

inline constexpr u32 kD = 4, kA = 7, kB = 10, kAMajor = 15, kBMajor = 16, kN = 17, kM = 24;
inline constexpr u32 kScaleIdB = 4, kScaleType = 23, kScaledM = 27, kScaleIdA = 29;

constexpr u32 majors(const MmaMajors& m) {
  return u32{m.a_mn} << kAMajor | u32{m.b_mn} << kBMajor;
}
// Codes in bytes (kind::mxf8f6f4).
constexpr u32 byte_code(ElementType type) {
  return type == ElementType::kE4m3 ? 0u : type == ElementType::kE5m2 ? 1u : 5u;
}

}  // namespace instruction_bits

// kind::f16, FP32 sums.
constexpr u32 f16_instruction(InputType type, const MmaShape& shape, const MmaMajors& major) {
  namespace bits = instruction_bits;
  const u32 code = type == InputType::kBf16 ? 1 : 0;
  return 1u << bits::kD | code << bits::kA | code << bits::kB | bits::majors(major) |
         shape.n / 8 << bits::kN | shape.m / 16 << bits::kM;
}

// kind::mxf8f6f4.
constexpr u32 mxf8f6f4_instruction(ElementType a, ElementType b, const MmaShape& shape,
                                   const MmaMajors& major) {
  namespace bits = instruction_bits;
  return bits::byte_code(a) << bits::kA | bits::byte_code(b) << bits::kB | bits::majors(major) |
         shape.n / 8 << bits::kN | 1u << bits::kScaleType | shape.m / 128 << bits::kScaledM;
}

// kind::mxf4 (e8m0 scales) and kind::mxf4nvf4 (e4m3): packed e2m1, both operands K-major.
constexpr u32 mxf4_instruction(ScaleType scale, const MmaShape& shape) {
  namespace bits = instruction_bits;
  return 1u << bits::kA | 1u << bits::kB | shape.n / 8 << bits::kN |
         (scale == ScaleType::kE8m0 ? 1u : 0u) << bits::kScaleType |
         shape.m / 128 << bits::kScaledM;
}

// Which bytes of the scale factors' words this instruction takes: byte 0 to 3 (mxf8f6f4), 0 or 2
// (mxf4), 0 (mxf4nvf4).
constexpr u32 with_scale_bytes(u32 instruction, u32 byte_a, u32 byte_b) {
  namespace bits = instruction_bits;
  return instruction | byte_b << bits::kScaleIdB | byte_a << bits::kScaleIdA;
}

}  // namespace wgrad::shared
