// The arithmetic of one wgmma.
#pragma once

#include <cstdint>

namespace wgrad::emu {

inline constexpr std::uint32_t kWgmmaRows = 64;
inline constexpr std::uint32_t kWgmmaDepth = 16;
inline constexpr std::uint32_t kWgmmaColumns = 256;

/// d[64][n] += a[64][16] * b[16][n], n a multiple of 8. Each sum runs over k upwards; every product
/// of two 16-bit floats is exact, each addition rounds to nearest even. (Tensor cores add in
/// another order and truncate.)
void multiply(float* d, const float* a, const float* b, std::uint32_t n);

}  // namespace wgrad::emu
