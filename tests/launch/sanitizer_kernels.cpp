#include "launch/sanitizer_kernels.hpp"

#include <string>

namespace wgrad::test {
namespace {

constexpr const char* kAny = "any";

constexpr SanitizerControl kControls[] = {
    {"memcheck", "right", "0"},
    {"racecheck", "right", "0"},
    {"synccheck", "right", "0"},
    {"initcheck", "right", "0"},
    {"memcheck", "load_past_the_end"},
    {"memcheck", "store_past_the_end"},
    {"memcheck", "store_to_an_input"},
    {"memcheck", "copy_past_the_end"},
    {"memcheck", "box_past_the_end"},
    {"memcheck", "shared_past_the_end"},
    {"racecheck", "threads_without_a_barrier"},
    {"racecheck", "copies_without_a_wait"},
    {"racecheck", "box_without_a_wait", kAny},
    {"racecheck", "arrivals_of_lanes", "0"},
    {"racecheck", "arrival_of_a_warp", kAny},
    {"synccheck", "barrier_in_a_branch"},
    {"synccheck", "barrier_not_initialised"},
    {"initcheck", "load_before_a_write"},
    {"initcheck", "copy_before_a_write"},
    {"initcheck", "box_before_a_write", kAny},
};

constexpr const char* kSource = R"(
#include "wgrad/common/warp_arrival.cuh"
using namespace wgrad::device;
using namespace wgrad::device::arch;

constexpr u32 kBytes = 8192;

WGRAD_DEVICE u32 tile() { return (shared_base() + 1023) / 1024 * 1024; }
WGRAD_DEVICE u32 barrier() { return tile() + kBytes; }
WGRAD_DEVICE u32 own() { return tile() + 4 * thread_index(); }
WGRAD_DEVICE u32 others() { return tile() + 4 * (thread_count() - 1 - thread_index()); }
WGRAD_DEVICE void write(u64 out, u32 value) {
  store_global_i32(out + 4 * thread_index(), static_cast<i32>(value));
}

WGRAD_DEVICE void copy(u64 from) {
  copy_async(tile() + 16 * thread_index(), from + 16 * thread_index(), 16);
  commit_copies();
}
// One box, under way when it returns.
WGRAD_DEVICE void load(const TensorMap& map, i32 row) {
  if (thread_index() == 0) {
    barrier_init(barrier(), 1);
    barrier_init_fence();
  }
  cta_sync();
  if (thread_index() == 0) {
    barrier_arrive_expect(barrier(), kBytes);
    load_box<2>(tile(), map, barrier(), {{0, row, 0, 0, 0}});
  }
}

// Each warp reads what the other one stored, told by `arrivals` of its lanes.
template <u32 arrivals>
WGRAD_DEVICE void exchange(u64 out) {
  if (thread_index() == 0) {
    barrier_init(barrier(), arrivals * thread_count() / 32);
    barrier_init_fence();
  }
  cta_sync();
  store_shared_u32(own(), thread_index());
  if constexpr (arrivals == 1) {
    arrive_together(barrier());
  } else {
    barrier_arrive(barrier());
  }
  barrier_wait(barrier(), 0);
  write(out, load_shared_u32(others()));
}

#define KERNEL(name) \
  extern "C" __global__ void name(const __grid_constant__ TensorMap map, u64 in, u64 out)

KERNEL(right) {
  load(map, 0);
  barrier_wait(barrier(), 0);
  const u32 boxed = load_shared_u32(others());
  cta_sync();
  copy(in);
  wait_copies<0>();
  cta_sync();
  write(out, boxed + load_shared_u32(others()));
}

KERNEL(load_past_the_end) {
  write(out, static_cast<u32>(load_global_i32(in + kBytes + 4 * thread_index())));
}
KERNEL(store_past_the_end) { write(out + kBytes, 1); }
KERNEL(store_to_an_input) { write(in, 1); }
KERNEL(copy_past_the_end) {
  copy(in + kBytes);
  wait_copies<0>();
  write(out, load_shared_u32(tile() + 16 * thread_index()));
}
KERNEL(box_past_the_end) {
  load(map, 64);
  barrier_wait(barrier(), 0);
  write(out, load_shared_u32(own()));
}
KERNEL(shared_past_the_end) {
  store_shared_u32(shared_base() + 16384 + 4 * thread_index(), 1);
  write(out, 1);
}

KERNEL(threads_without_a_barrier) {
  store_shared_u32(own(), thread_index());
  write(out, load_shared_u32(others()));
}
KERNEL(copies_without_a_wait) {
  copy(in);
  cta_sync();
  write(out, load_shared_u32(others()));
  wait_copies<0>();
}
KERNEL(box_without_a_wait) {
  load(map, 0);
  write(out, load_shared_u32(others()));
  barrier_wait(barrier(), 0);
}

// Right: a warp's stores are before its arrival, by each lane's own or by __syncwarp.
KERNEL(arrivals_of_lanes) { exchange<32>(out); }
KERNEL(arrival_of_a_warp) { exchange<1>(out); }

KERNEL(barrier_in_a_branch) {
  if (thread_index() < 48) __syncthreads();
  write(out, 1);
}
KERNEL(barrier_not_initialised) {
  barrier_arrive(barrier());
  write(out, 1);
}

KERNEL(load_before_a_write) {
  write(out, static_cast<u32>(load_global_i32(in + 4 * thread_index())));
}
KERNEL(copy_before_a_write) {
  copy(in);
  wait_copies<0>();
  write(out, load_shared_u32(tile() + 16 * thread_index()));
}
KERNEL(box_before_a_write) {
  load(map, 0);
  barrier_wait(barrier(), 0);
  write(out, load_shared_u32(own()));
}
)";

}  // namespace

std::span<const SanitizerControl> sanitizer_controls() {
  return kControls;
}

kernels::KernelSource sanitizer_kernels(int arch) {
  return {"sanitizer controls",
          "right",
          kSource,
          {"--gpu-architecture=sm_" + std::to_string(arch) + "a", "--std=c++20",
           "--device-as-default-execution-space"}};
}

}  // namespace wgrad::test
