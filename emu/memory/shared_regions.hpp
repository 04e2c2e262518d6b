// The words for shared memory in reports, from a kernel's own table of it.
#pragma once

#include <vector>

#include "emu/machine.hpp"
#include "wgrad/shared/smem_table.hpp"

namespace wgrad::emu {

/// What is lent lies in regions that have their name already.
inline std::vector<SharedRegion> shared_regions(const shared::SmemTable& table) {
  std::vector<SharedRegion> out;
  for (const shared::SmemRegion& r : table.region) {
    if (r.count > 0 && r.kind != shared::RegionKind::kLoan)
      out.push_back({r.name, r.at, r.bytes, r.count});
  }
  return out;
}

}  // namespace wgrad::emu
