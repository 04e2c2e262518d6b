// Global scales of an expert, as what its sums are multiplied by.
#pragma once

#include "wgrad/arch/arch.cuh"

namespace wgrad::device {

// sum * a * b. A sum of 0 stays 0 whatever the factors are; a partial product overflows or vanishes
// only where the whole does.
struct Factors {
  float first;
  float second;

  WGRAD_DEVICE static bool is_large(float x) { return x >= 1.0f || x <= -1.0f; }
  WGRAD_DEVICE Factors(float a, float b)
      : first(is_large(a) == is_large(b) ? a : a * b),
        second(is_large(a) == is_large(b) ? b : 1.0f) {}
  WGRAD_DEVICE float of(float sum) const { return sum == 0.0f ? sum : sum * first * second; }
};

template <auto kConfig>
constexpr bool has_global_scale() {
  if constexpr (requires { kConfig.global_scale; }) return kConfig.global_scale;
  return false;
}

// Of the tile that an epilogue writes out: nothing where a config has no global scales.
template <auto kConfig, bool kAny = has_global_scale<kConfig>()>
struct TileFactors {
  template <typename Queue>
  WGRAD_DEVICE void read(const Queue&) {}
  template <u32 kCount>
  WGRAD_DEVICE void apply(float (&)[kCount]) const {}
};
template <auto kConfig>
struct TileFactors<kConfig, true> {
  Factors factors{1.0f, 1.0f};

  // The queue's current entry (common/scale_columns.cuh).
  template <typename Queue>
  WGRAD_DEVICE void read(const Queue& queue) {
    const arch::Quad extra = arch::load_shared_quad(queue.extra_entry());
    factors = Factors(extra.value[1], extra.value[2]);
  }
  template <u32 kCount>
  WGRAD_DEVICE void apply(float (&sums)[kCount]) const {
#pragma unroll
    for (u32 i = 0; i < kCount; ++i) sums[i] = factors.of(sums[i]);
  }
};

}  // namespace wgrad::device
