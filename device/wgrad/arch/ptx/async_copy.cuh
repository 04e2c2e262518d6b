// 16 bytes from global to shared memory by a thread, past its registers. PTX: "cp.async",
// "cp.async.commit_group / wait_group". Ordinary accesses, no proxy of their own: they are there
// for the thread once it has waited for their group, for wgmma after a proxy fence on top.
#pragma once

namespace wgrad::device::arch {

// Both addresses on 16 bytes; `bytes` (0 to 16) are read, the rest is zero.
WGRAD_DEVICE void copy_async(u32 target, u64 source, u32 bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(target), "l"(source),
               "r"(bytes)
               : "memory");
}
WGRAD_DEVICE void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until at most kPending of this thread's groups are in flight.
template <u32 kPending>
WGRAD_DEVICE void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace wgrad::device::arch
