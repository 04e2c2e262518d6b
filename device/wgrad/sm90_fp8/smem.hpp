// Where everything lies in the shared memory of a CTA that multiplies FP8: as in the 16-bit kernel,
// and what its roles are told of a tile beside.
#pragma once

#include "wgrad/sm90/smem.hpp"
#include "wgrad/sm90_fp8/config.hpp"

namespace wgrad::shared {

constexpr SmemTable smem_table(const Fp8Config& c) {
  SmemTable t = sm90::smem_table(static_cast<const Config&>(c));
  t.add({"work expert", RegionKind::kEntry, 16, kWorkSlots, 16});
  t.total = round_up(t.total, 128u);
  return t;
}

// Most stages that fit beside the ring.
constexpr i32 max_stages(Fp8Config c) {
  return stages_that_fit(c, [](const Fp8Config& of) { return smem_table(of).total; });
}

}  // namespace wgrad::shared
