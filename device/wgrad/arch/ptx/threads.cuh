// Who am I, barriers inside one CTA, and launches that overlap. PTX: special registers; "bar,
// barrier"; "shfl.sync"; "griddepcontrol".
#pragma once

namespace wgrad::device::arch {

WGRAD_DEVICE u32 thread_index() {
  return threadIdx.x;
}
WGRAD_DEVICE u32 thread_count() {
  return blockDim.x;
}
WGRAD_DEVICE u32 block_index() {
  return blockIdx.x;
}
WGRAD_DEVICE u32 block_count() {
  return gridDim.x;
}
WGRAD_DEVICE u32 lane_index() {
  return threadIdx.x % 32;
}

// Cycles of this SM, low half; and the timer of the whole GPU.
WGRAD_DEVICE u32 clock() {
  u32 cycles;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(cycles)::"memory");
  return cycles;
}
WGRAD_DEVICE u64 timer_nanoseconds() {
  u64 time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
  return time;
}

// The value of lane 0, known to the compiler as the same in the whole warp.
WGRAD_DEVICE u32 warp_uniform(u32 value) {
  return __shfl_sync(0xffffffffu, value, 0);
}

// One lane of the converged warp, every time the same: for instructions of which the compiler shall
// know that a single thread issues them. PTX: "elect.sync".
WGRAD_DEVICE bool elect_one() {
  u32 elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(elected)::"memory");
  return elected != 0;
}

// The 32 threads of a warp, also where they have parted.
WGRAD_DEVICE void warp_sync() {
  asm volatile("bar.warp.sync 0xffffffff;" ::: "memory");
}

// All threads of the CTA.
WGRAD_DEVICE void cta_sync() {
  asm volatile("barrier.sync 0;" ::: "memory");
}

// Programmatic dependent launch: until the launches before this one in the stream are complete and
// what they wrote is seen. Global memory may be used only afterwards.
WGRAD_DEVICE void grid_dependency_wait() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}
// The next launch, if it is programmatic, may begin once every CTA has said so or ended.
WGRAD_DEVICE void launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;");
}

// `count` threads that name the same barrier, 1..15.
WGRAD_DEVICE void named_sync(u32 barrier, u32 count) {
  asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(count) : "memory");
}

// The same for all: whether `value` holds for one of them.
WGRAD_DEVICE bool named_any(u32 barrier, u32 count, bool value) {
  u32 any;
  asm volatile(
      "{\n.reg .pred p, q;\n"
      "setp.ne.u32 p, %3, 0;\n"
      "barrier.red.or.pred q, %1, %2, p;\n"
      "selp.u32 %0, 1, 0, q;\n}"
      : "=r"(any)
      : "r"(barrier), "r"(count), "r"(u32{value})
      : "memory");
  return any != 0;
}

}  // namespace wgrad::device::arch
