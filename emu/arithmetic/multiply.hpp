// The arithmetic of one wgmma, as an H200's tensor cores do it, bit for bit (emu/README.md). Models
// fitted to a B200 (docs/notes/2026-12-01-the-emulated-blackwell-machine.md) give tcgen05.mma of
// kind::f16 and kind::mxf8f6f4 the same, with 16 and 32 products.
#pragma once

#include <cstdint>

namespace wgrad::emu {

inline constexpr std::uint32_t kWgmmaRows = 64;
inline constexpr std::uint32_t kWgmmaDepth = 16;
inline constexpr std::uint32_t kWgmmaColumns = 256;
inline constexpr std::uint32_t kFp8Depth = 32;

/// Values of an operand, and the power of two that each counts as (`power_of`).
struct Factors {
  const float* values;
  const float* powers;
};
struct MultiplyExtents {
  std::uint32_t rows;
  std::uint32_t n;      ///< a multiple of 8
  std::uint32_t depth;  ///< 16 or 32
};

/// 2^exponent of a factor or an accumulator: at least `least`; 0 for 0, infinity for what is not
/// finite.
float power_of(float x, float least);

/// d[rows][n] += a[rows][depth] * b[depth][n].
///
/// An element's exact products and its accumulator are one sum. The exponent of a product is the
/// sum of its factors' exponents, whether or not their significands' product reaches 2; a subnormal
/// has its type's least exponent; zeros have none. Every term is cut, towards zero, to 25 binary
/// places below the largest exponent. Their exact sum is cut, towards zero, to FP32, subnormals
/// included; from 2^128 on it is infinite. A sum of nothing but negative zeros is -0, any other
/// zero +0. NaN, infinity times zero, and infinities of both signs make the NaN 0x7fffffff.
void multiply(float* d, const MultiplyExtents& extents, const Factors& a, const Factors& b);

/// One wgmma of FP8 values, 32 deep: the same, but that terms are cut to 13 binary places below the
/// largest exponent, and the sum to 13 places after its leading bit. `least_a`, `least_b`: 2^ the
/// least exponent of the factors' types (docs/notes/2026-12-01-how-hopper-adds-fp8.md).
void multiply_fp8(float* d, std::uint32_t rows, std::uint32_t n, const float* a, float least_a,
                  const float* b, float least_b);

/// The same of bf16 or (fp16) fp16 values, 16 deep.
void multiply(float* d, const float* a, const float* b, std::uint32_t rows, std::uint32_t n,
              bool fp16);

}  // namespace wgrad::emu
