// The scale factors of whole rows: a sum takes that of its row of A and that of its column.
#pragma once

#include "wgrad/common/work_queue.cuh"
#include "wgrad/sm90/accumulator.cuh"
#include "wgrad/sm90_fp8/params.hpp"
#include "wgrad/sm90_fp8/smem.hpp"

namespace wgrad::device {

template <KernelConfig auto kConfig>
WGRAD_DEVICE const Fp8Params& fp8_params(const Cta<kConfig>& cta) {
  return static_cast<const Fp8Params&>(cta.params);
}

// The roles need to know whose tile it is.
template <KernelConfig auto kConfig>
requires(takes_fp8(kConfig)) struct TileExtra<kConfig> {
  static constexpr bool kAny = true;
  static constexpr u32 kOffset = place_of(kConfig, "work expert").at, kBytes = 16;

  WGRAD_DEVICE static arch::Chunk look_up(const Cta<kConfig>&, i32 expert, const Work&) {
    return {{u32(expert), 0, 0, 0}};
  }
};

// Of magnitude 2^-40 to 2^40: a sum of FP8 products, times two of them one after the other, leaves
// FP32's normal range only where the result does.
WGRAD_DEVICE bool is_ordinary(float scale) {
  const float size = scale < 0.0f ? -scale : scale;
  return size >= 0x1p-40f && size <= 0x1p40f;
}

// sum * a * b; a partial product overflows or vanishes only where the whole does.
WGRAD_DEVICE float scaled(float sum, float a, float b) {
  const auto is_large = [](float x) { return x >= 1.0f || x <= -1.0f; };
  return is_large(a) == is_large(b) ? sum * a * b : sum * (a * b);
}

// A thread's rows and columns of a tile (sm90/fragment.hpp).
template <KernelConfig auto kConfig>
struct RowScales {
  static constexpr u32 kGroups = u32(kConfig.tile_n) / Fragment::kColumns;
  static constexpr u32 kBatch = min_of(kGroups, 8u);  // groups of columns: loads in flight

  const Fp8Params& params;

  WGRAD_DEVICE static float load(u64 scales, i64 first, i32 index, i32 extent) {
    return arch::load_global_f32(scales + 4 * u64(first + min_of(index, extent - 1)));
  }

  // `row`: the warp's first of the tile's matrix.
  WGRAD_DEVICE void apply(Accumulators<kConfig>& d, const Work& w, i32 expert, i32 row) const {
    const i32 lane = i32(arch::lane_index());
    const i64 first_a = i64{expert} * params.m, first_b = i64{expert} * params.n;
    float a[2];
    bool ordinary = true;
#pragma unroll
    for (i32 i = 0; i < 2; ++i) {
      a[i] = load(params.scales_a, first_a, row + Fragment::row(lane, 2 * i), params.m);
      ordinary = ordinary && is_ordinary(a[i]);
    }
    const i32 column = w.n0 + Fragment::column(lane, 0);
#pragma unroll
    for (u32 first = 0; first < kGroups; first += kBatch) {
      if (w.n0 + i32(first * Fragment::kColumns) >= params.n) break;
      float b[2 * kBatch];
      bool all = ordinary;
#pragma unroll
      for (u32 i = 0; i < 2 * kBatch; ++i) {
        const i32 at = column + i32((first + i / 2) * Fragment::kColumns + i % 2);
        b[i] = load(params.scales_b, first_b, at, params.n);
        all = all && is_ordinary(b[i]);
      }
      if (all) {
        multiply(d, first, a, b, [](float sum, float x, float y) { return sum * x * y; });
      } else {
        multiply(d, first, a, b, scaled);
      }
    }
  }

 private:
  template <typename Scaled>
  WGRAD_DEVICE static void multiply(Accumulators<kConfig>& d, u32 first, const float (&a)[2],
                                    const float (&b)[2 * kBatch], const Scaled& scaled_sum) {
#pragma unroll
    for (u32 i = 0; i < 4 * kBatch; ++i) {
      float& sum = d.band[0][4 * first + i];
      sum = scaled_sum(sum, a[i / 2 % 2], b[i / 4 * 2 + i % 2]);
    }
  }
};

}  // namespace wgrad::device
