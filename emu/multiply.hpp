// The arithmetic of one wgmma, as an H200's tensor cores do it, bit for bit (emu/README.md).
#pragma once

#include <cstdint>

namespace wgrad::emu {

inline constexpr std::uint32_t kWgmmaRows = 64;
inline constexpr std::uint32_t kWgmmaDepth = 16;
inline constexpr std::uint32_t kWgmmaColumns = 256;

/// d[64][n] += a[64][16] * b[16][n], n a multiple of 8; a and b hold bf16 or (fp16) fp16 values.
///
/// An element's 16 exact products and its accumulator are one sum. The exponent of a product is the
/// sum of its factors' exponents, whether or not their significands' product reaches 2; a subnormal
/// has its type's least exponent; zeros have none. Every term is cut, towards zero, to 25 binary
/// places below the largest exponent. Their exact sum is cut, towards zero, to FP32, subnormals
/// included; from 2^128 on it is infinite. A sum of nothing but negative zeros is -0, any other
/// zero +0. NaN, infinity times zero, and infinities of both signs make the NaN 0x7fffffff.
void multiply(float* d, const float* a, const float* b, std::uint32_t n, bool fp16);

}  // namespace wgrad::emu
