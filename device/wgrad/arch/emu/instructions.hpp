// The emulated machine's instructions, as the arch:: names call them. Implemented in emu/; each
// acts for the device thread (fiber) that runs now, and throws what the hardware would refuse.
#pragma once

#include <cstdint>

#include "wgrad/shared/params.hpp"

namespace wgrad::emu {

using shared::TensorMap;

// Threads.
std::uint32_t thread_index();
std::uint32_t thread_count();
std::uint32_t block_index();
std::uint32_t block_count();
std::uint32_t cluster_rank();
std::uint32_t cluster_size();
std::uint32_t clock();
std::uint64_t timer_nanoseconds();
void cta_sync();
void named_sync(std::uint32_t barrier, std::uint32_t count);
bool named_any(std::uint32_t barrier, std::uint32_t count, bool value);
void cluster_sync();
void warp_sync();
std::uint32_t shuffle(std::uint32_t value, std::uint32_t source_lane);
std::uint32_t ballot(bool value);
bool elect();
void release_registers(std::uint32_t count);
void claim_registers(std::uint32_t count);
void grid_dependency_wait();
void launch_dependents();

// Memory: 1 to 16 bytes, naturally aligned.
std::uint32_t shared_base();
std::uint32_t map_to_rank(std::uint32_t address, std::uint32_t rank);
void load_shared(std::uint32_t address, void* value, std::uint32_t bytes);
void store_shared(std::uint32_t address, const void* value, std::uint32_t bytes);
void store_shared_cluster(std::uint32_t mapped_address, const void* value, std::uint32_t bytes);
void load_global(std::uint64_t address, void* value, std::uint32_t bytes);
void store_global(std::uint64_t address, const void* value, std::uint32_t bytes);
std::int32_t compare_and_swap_global(std::uint64_t address, std::int32_t expected,
                                     std::int32_t desired);
std::uint32_t add_global(std::uint64_t address, std::uint32_t value);
void max_global(std::uint64_t address, std::uint32_t value);
// At the GPU's scope; the add acquires, too.
std::uint32_t add_global_release(std::uint64_t address, std::uint32_t value);
std::uint32_t load_global_acquire(std::uint64_t address);
// Looks again whenever somebody has changed it by an atomic.
void wait_global_acquire(std::uint64_t address, std::uint32_t least);
void fence_async_shared();
// Ordinary copies in the background: 16 bytes, of which the first `bytes` are read, the others 0.
void copy_async(std::uint32_t target, std::uint64_t source, std::uint32_t bytes);
void commit_copies();
void wait_copies(std::uint32_t pending);
void store_matrices(std::uint32_t row_address, const std::uint32_t* words);
void load_matrices(std::uint32_t row_address, std::uint32_t* words);
void load_matrices_transposed(std::uint32_t row_address, std::uint32_t* words);

// mbarriers.
void barrier_init(std::uint32_t barrier, std::uint32_t arrivals);
void barrier_init_fence();
void barrier_arrive(std::uint32_t barrier);
// At a barrier of any CTA of the cluster. `release`: at the cluster's scope.
void barrier_arrive_cluster(std::uint32_t mapped_barrier, bool release);
void barrier_arrive_expect(std::uint32_t barrier, std::uint32_t bytes);
bool barrier_try_wait(std::uint32_t barrier, std::uint32_t parity);
// Acquires at the cluster's scope.
bool barrier_try_wait_cluster(std::uint32_t barrier, std::uint32_t parity);
bool barrier_test(std::uint32_t barrier, std::uint32_t parity);

// The copy engine. Coordinates innermost first, as many as the map's rank.
void prefetch_map(const TensorMap& map);
void load_box(std::uint32_t target, const TensorMap& map, std::uint32_t barrier,
              const std::int32_t* x, std::uint32_t rank,
              std::uint32_t cta_mask);  // mask 0: this CTA
void load_box_of_pair(std::uint32_t target, const TensorMap& map, std::uint32_t mapped_barrier,
                      const std::int32_t* x, std::uint32_t rank);
void store_box(const TensorMap& map, std::uint32_t source, const std::int32_t* x,
               std::uint32_t rank, bool add);
void prefetch_box(const TensorMap& map, const std::int32_t* x, std::uint32_t rank);
void load_bytes(std::uint32_t target, std::uint64_t source, std::uint32_t bytes,
                std::uint32_t barrier);
void store_bytes(std::uint64_t target, std::uint32_t source, std::uint32_t bytes);
void commit_stores();
void wait_stores(std::uint32_t pending, bool read_only);

// Conversions, rounding to nearest even.
std::uint16_t bf16_bits(float x);
std::uint16_t fp16_bits(float x);
float bf16_value(std::uint16_t bits);
float fp16_value(std::uint16_t bits);
// Saturating; of no NaN.
std::uint8_t e4m3_code(float x);
std::uint8_t e5m2_code(float x);

// wgmma m64nNk16, FP32 accumulators. `fragments`: A's 4 registers, or null when A is described by
// `a`.
void wgmma_fence();
void wgmma(float* accumulators, std::uint32_t n, std::uint64_t a, const std::uint32_t* fragments,
           std::uint64_t b, bool keep, bool fp16, bool a_mn_major, bool b_mn_major);
// wgmma m64nNk32 of FP8 operands, K-major in shared memory; each e4m3 or e5m2.
void wgmma_fp8(float* accumulators, std::uint32_t n, std::uint64_t a, std::uint64_t b, bool keep,
               bool a_e5m2, bool b_e5m2);
void wgmma_commit();
void wgmma_wait(std::uint32_t pending);

}  // namespace wgrad::emu
