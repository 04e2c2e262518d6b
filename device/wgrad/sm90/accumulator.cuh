// The 64 x N FP32 accumulators of a math warpgroup (fragment.hpp: who holds what), and each warp's
// way into 16 x 128-byte output boxes (128-byte swizzle).
#pragma once

#include "wgrad/common/output_element.cuh"
#include "wgrad/common/tile.cuh"
#include "wgrad/sm90/config.hpp"
#include "wgrad/sm90/fragment.hpp"

namespace wgrad::device {

template <auto kConfig>
struct Accumulators {
  static constexpr u32 kBands = u32(bands_per_warpgroup(kConfig));
  static constexpr u32 kCount = u32(kConfig.tile_n) / 2;

  float band[kBands][kCount];

  WGRAD_DEVICE void clear() {
#pragma unroll
    for (u32 b = 0; b < kBands; ++b) {
#pragma unroll
      for (u32 i = 0; i < kCount; ++i) band[b][i] = 0.0f;
    }
  }

  // The first kColumns columns of a band: their fragment is a prefix of the whole one.
  template <u32 kColumns>
  WGRAD_DEVICE float (&columns(u32 b))[kColumns / 2] {
    return reinterpret_cast<float(&)[kColumns / 2]>(band[b]);
  }

  // After the last wait: no access may move before it.
  WGRAD_DEVICE void pin() {
#pragma unroll
    for (u32 b = 0; b < kBands; ++b) arch::wgmma_pin(band[b]);
  }
};

// 16-bit outputs: 64 columns from accumulator d + 32 * kBox. With kAdd the box holds the
// destination.
template <OutputType kType, bool kAdd, bool kPaired, u32 kBox, u32 kCount>
WGRAD_DEVICE void write_box_16(u32 box, const float (&d)[kCount]) {
  const u32 lane = arch::lane_index();
  const u32 row = kPaired ? lane % 8 * 2 + lane / 8 % 2 : lane % 16;
#pragma unroll
  for (u32 q = 0; q < 4; ++q) {
    const u32 address = swizzled(box, row, 2 * q + lane / 16);
    arch::Chunk c{};
    if constexpr (kAdd) c = arch::load_matrices(address);
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
      const u32 at = kBox * 32 + q * 8 + i * 2;
      // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the main loop has set it
      c.word[i] = round_pair<kType, kAdd>(d[at], d[at + 1], c.word[i]);
    }
    arch::store_matrices(address, c);
  }
}

// FP32: 32 columns from accumulator d + 16 * kBox. Odd rows store the 8-column groups in another
// order (q ^ 2): so the 16 threads of one 8-byte store phase meet no bank twice.
template <bool kPaired, u32 kBox, u32 kCount>
WGRAD_DEVICE void write_box_32(u32 box, const float (&d)[kCount]) {
  const u32 lane = arch::lane_index();
  const u32 row = Fragment::row<kPaired>(lane, 0u), pair = Fragment::pair(lane);
  const bool odd = row % 2 != 0;
#pragma unroll
  for (u32 q = 0; q < 4; ++q) {
    const u32 group = odd ? q ^ 2 : q;
    const u32 low = swizzled(box, row, 2 * group + pair / 2) + pair % 2 * 8;
    // 8 rows further the swizzle is the same.
    const u32 high = kPaired ? swizzled(box, row + 1, 2 * group + pair / 2) + pair % 2 * 8
                             : low + 8 * kSwizzleBytes;
    const u32 at = kBox * 16 + q * 4, other = kBox * 16 + (q ^ 2) * 4;
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the main loop has set it
    arch::store_shared_pair(low, odd ? d[other] : d[at], odd ? d[other + 1] : d[at + 1]);
    arch::store_shared_pair(high, odd ? d[other + 2] : d[at + 2], odd ? d[other + 3] : d[at + 3]);
  }
}

template <auto kConfig, u32 kBox, u32 kCount>
WGRAD_DEVICE void write_box(u32 box, const float (&d)[kCount]) {
  if constexpr (kConfig.output == OutputType::kFp32) {
    write_box_32<pairs_rows(kConfig), kBox>(box, d);
  } else {
    write_box_16<kConfig.output, reads_output(kConfig), pairs_rows(kConfig), kBox>(box, d);
  }
}

}  // namespace wgrad::device
