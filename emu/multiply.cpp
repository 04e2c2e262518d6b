#include "emu/multiply.hpp"

#include <cstring>

namespace wgrad::emu {
namespace {

using Lanes = float __attribute__((vector_size(32)));
constexpr std::uint32_t kLanes = 8;

template <std::uint32_t kVectors>
[[gnu::always_inline]] inline void multiply_block(float* d, const float* a, const float* b,
                                                  std::uint32_t n) {
  constexpr std::uint32_t kRows = 4;
  Lanes sum[kRows][kVectors];
  for (std::uint32_t i = 0; i < kRows; ++i) {
    for (std::uint32_t j = 0; j < kVectors; ++j)
      std::memcpy(&sum[i][j], d + i * n + j * kLanes, sizeof(Lanes));
  }
  for (std::uint32_t k = 0; k < kWgmmaDepth; ++k) {
    Lanes right[kVectors];
    for (std::uint32_t j = 0; j < kVectors; ++j)
      std::memcpy(&right[j], b + k * n + j * kLanes, sizeof(Lanes));
    for (std::uint32_t i = 0; i < kRows; ++i) {
      const float left = a[i * kWgmmaDepth + k];
      for (std::uint32_t j = 0; j < kVectors; ++j) sum[i][j] += left * right[j];
    }
  }
  for (std::uint32_t i = 0; i < kRows; ++i) {
    for (std::uint32_t j = 0; j < kVectors; ++j)
      std::memcpy(d + i * n + j * kLanes, &sum[i][j], sizeof(Lanes));
  }
}

[[gnu::always_inline]] inline void multiply_all(float* d, const float* a, const float* b,
                                                std::uint32_t n) {
  for (std::uint32_t i = 0; i < kWgmmaRows; i += 4) {
    std::uint32_t j = 0;
    for (; j + 2 * kLanes <= n; j += 2 * kLanes)
      multiply_block<2>(d + i * n + j, a + i * kWgmmaDepth, b + j, n);
    for (; j < n; j += kLanes) multiply_block<1>(d + i * n + j, a + i * kWgmmaDepth, b + j, n);
  }
}

void multiply_plain(float* d, const float* a, const float* b, std::uint32_t n) {
  multiply_all(d, a, b, n);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void multiply_avx2(float* d, const float* a, const float* b,
                                               std::uint32_t n) {
  multiply_all(d, a, b, n);
}
#endif

}  // namespace

void multiply(float* d, const float* a, const float* b, std::uint32_t n) {
#if defined(__x86_64__)
  static const bool kAvx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
  if (kAvx2) return multiply_avx2(d, a, b, n);
#endif
  multiply_plain(d, a, b, n);
}

}  // namespace wgrad::emu
