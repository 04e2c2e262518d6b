// Moving registers between warpgroups. PTX: "setmaxnreg". Each warpgroup executes exactly one of
// these, at its start.
#pragma once

namespace wgrad::device::arch {

template <u32 kCount>
WGRAD_DEVICE void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}

template <u32 kCount>
WGRAD_DEVICE void claim_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

}  // namespace wgrad::device::arch
