// A box of a 4-D tensor map into L2. PTX: "cp.async.bulk.prefetch.tensor". A hint: nothing waits
// for it, and parts outside the tensor are left out.
#pragma once

#include "wgrad/arch/ptx/tma_load.cuh"

namespace wgrad::device::arch {

WGRAD_DEVICE void prefetch_box(const TensorMap& map, const Coord& x) {
  asm volatile(
      "cp.async.bulk.prefetch.tensor.4d.L2.global.tile [%0, {%1, %2, %3, %4}];" ::"l"(&map),
      "r"(x.c[0]), "r"(x.c[1]), "r"(x.c[2]), "r"(x.c[3])
      : "memory");
}

}  // namespace wgrad::device::arch
