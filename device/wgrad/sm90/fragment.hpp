// Which lane holds which element of a warp's 16 rows of FP32 accumulators (PTX, wgmma D): element i
// of lane l. `Int`: as the caller counts.
#pragma once

#include "wgrad/shared/types.hpp"

namespace wgrad::shared::sm90 {

struct Fragment {
  static constexpr u32 kColumns = 8;  // of a group, of which a lane holds four elements

  // kPaired: where A's rows were taken in pairs (pairs_rows()), neighbours in one lane.
  template <bool kPaired = false, typename Int>
  static constexpr Int row(Int lane, Int i) {
    return kPaired ? lane / 4 * 2 + i / 2 % 2 : lane / 4 + i / 2 % 2 * 8;
  }
  // Of columns, in a group.
  template <typename Int>
  static constexpr Int pair(Int lane) {
    return lane % 4;
  }
  template <typename Int>
  static constexpr Int column(Int lane, Int i) {
    return i / 4 * 8 + pair(lane) * 2 + i % 2;
  }
};

}  // namespace wgrad::shared::sm90
