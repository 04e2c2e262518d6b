// Threads, clusters, registers, mbarriers: arch/ptx/threads.cuh, cluster.cuh, registers.cuh,
// mbarrier.cuh.
#pragma once

#include "wgrad/arch/emu/instructions.hpp"

namespace wgrad::device::arch {

WGRAD_DEVICE u32 thread_index() {
  return emu::thread_index();
}
WGRAD_DEVICE u32 thread_count() {
  return emu::thread_count();
}
WGRAD_DEVICE u32 block_index() {
  return emu::block_index();
}
WGRAD_DEVICE u32 block_count() {
  return emu::block_count();
}
WGRAD_DEVICE u32 lane_index() {
  return emu::thread_index() % 32;
}
WGRAD_DEVICE u32 clock() {
  return emu::clock();
}
WGRAD_DEVICE u64 timer_nanoseconds() {
  return emu::timer_nanoseconds();
}
WGRAD_DEVICE u32 warp_uniform(u32 value) {
  return emu::shuffle(value, 0);
}
WGRAD_DEVICE bool elect_one() {
  return emu::elect();
}
WGRAD_DEVICE void warp_sync() {
  emu::warp_sync();
}
WGRAD_DEVICE void cta_sync() {
  emu::cta_sync();
}
WGRAD_DEVICE void grid_dependency_wait() {
  emu::grid_dependency_wait();
}
WGRAD_DEVICE void launch_dependents() {
  emu::launch_dependents();
}
WGRAD_DEVICE void named_sync(u32 barrier, u32 count) {
  emu::named_sync(barrier, count);
}
WGRAD_DEVICE bool named_any(u32 barrier, u32 count, bool value) {
  return emu::named_any(barrier, count, value);
}
WGRAD_DEVICE u32 cluster_rank() {
  return emu::cluster_rank();
}
WGRAD_DEVICE void cluster_sync() {
  emu::cluster_sync();
}
WGRAD_DEVICE u32 map_to_rank(u32 shared_address, u32 rank) {
  return emu::map_to_rank(shared_address, rank);
}

template <u32 kCount>
WGRAD_DEVICE void release_registers() {
  emu::release_registers(kCount);
}
template <u32 kCount>
WGRAD_DEVICE void claim_registers() {
  emu::claim_registers(kCount);
}

WGRAD_DEVICE void barrier_init(u32 barrier, u32 arrivals) {
  emu::barrier_init(barrier, arrivals);
}
WGRAD_DEVICE void barrier_init_fence() {
  emu::barrier_init_fence();
}
WGRAD_DEVICE void barrier_arrive(u32 barrier) {
  emu::barrier_arrive(barrier);
}
WGRAD_DEVICE void barrier_arrive_expect(u32 barrier, u32 bytes) {
  emu::barrier_arrive_expect(barrier, bytes);
}
WGRAD_DEVICE void barrier_arrive_cluster(u32 barrier) {
  emu::barrier_arrive_cluster(barrier, false);
}
WGRAD_DEVICE void barrier_arrive_release_cluster(u32 barrier) {
  emu::barrier_arrive_cluster(barrier, true);
}
WGRAD_DEVICE bool barrier_try_wait(u32 barrier, u32 parity) {
  return emu::barrier_try_wait(barrier, parity);
}
WGRAD_DEVICE bool barrier_test(u32 barrier, u32 parity) {
  return emu::barrier_test(barrier, parity);
}
WGRAD_DEVICE void barrier_wait(u32 barrier, u32 parity) {
  while (!barrier_try_wait(barrier, parity)) {
  }
}
WGRAD_DEVICE void barrier_wait_acquire_cluster(u32 barrier, u32 parity) {
  while (!emu::barrier_try_wait_cluster(barrier, parity)) {
  }
}

}  // namespace wgrad::device::arch
