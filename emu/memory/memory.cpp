// Ordinary accesses and fences.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "emu/arithmetic/half.hpp"
#include "emu/cluster.hpp"
#include "wgrad/arch/emu/instructions.hpp"

namespace wgrad::emu {
namespace {

std::uint16_t byte_mask(std::uint32_t offset, std::uint32_t bytes) {
  return static_cast<std::uint16_t>(((1u << bytes) - 1) << offset % kGranule);
}

std::uint32_t checked_offset(const Cta& cta, std::uint32_t address, std::uint32_t bytes,
                             const char* action) {
  const std::uint32_t at = cta.offset(address, bytes, action);
  if (at % bytes != 0) {
    throw FaultError(FaultKind::kMisaligned,
                     fmt::format("{} of {} bytes at {}", action, bytes, cta.describe(at)));
  }
  if (cta.barrier_at[at / 8] != 0 || cta.barrier_at[(at + bytes - 1) / 8] != 0) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("ordinary {} of an mbarrier at {}", action, cta.describe(at)));
  }
  return at;
}

void check_global(std::uint64_t address, std::uint32_t bytes, const char* action) {
  if (address % bytes == 0) return;
  throw FaultError(FaultKind::kMisaligned,
                   fmt::format("{} of {} bytes of global memory at {:#x}", action, bytes, address));
}

// Two ordinary stores to the same bytes that nothing orders: whoever comes last wins.
void check_store(Thread& thread, std::uint64_t address, std::uint32_t bytes) {
  Cluster& cluster = *thread.cluster;
  const GlobalMemory::Store now{cluster.index(), thread.agent, thread.clock.now};
  cluster.memory().note_store(address, bytes, now, [&](const GlobalMemory::Store& earlier) {
    check_store_seen(cluster, earlier, thread.cta->rank, thread.clock.view(), address, "store");
  });
}

void check_stores_seen(Thread& thread, std::uint64_t address, std::uint32_t bytes,
                       const char* action) {
  thread.cluster->memory().visit_stores(address, bytes, [&](const GlobalMemory::Store& store) {
    check_store_seen(*thread.cluster, store, thread.cta->rank, thread.clock.view(), address,
                     action);
  });
}

// Bytes of global memory for an ordinary access, after what the copy engine does to them.
std::uint8_t* ordinary(Thread& thread, std::uint64_t address, std::uint32_t bytes, bool write,
                       const char* action) {
  Cluster& cluster = *thread.cluster;
  const GlobalMemory::Span span = cluster.memory().span(address, bytes, write, action);
  for (std::uint64_t i = 0; i < span.trace_count; ++i)
    check_touch(cluster, span.trace[i], thread.clock.view(), write, address);
  return span.bytes;
}

}  // namespace

void check_dependency(const Thread& thread) {
  if (!thread.cluster->launch().programmatic || thread.grid_waited) return;
  throw FaultError(FaultKind::kRace,
                   "global memory used before grid_dependency_wait() in a programmatic launch");
}

std::uint32_t shared_base() {
  return me().cta->base;
}

std::uint32_t map_to_rank(std::uint32_t address, std::uint32_t rank) {
  const Thread& thread = me();
  const std::uint32_t at = thread.cta->offset(address, 1, "mapa");
  if (rank >= thread.cluster->size()) {
    throw FaultError(FaultKind::kIllegal, fmt::format("mapa to rank {} of a cluster of {}", rank,
                                                      thread.cluster->size()));
  }
  return (rank + 1) << kRankShift | (thread.cluster->cta(rank).base + at);
}

void load_shared(std::uint32_t address, void* value, std::uint32_t bytes) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread, Cost::kSharedLoad);
  Cta& cta = *thread.cta;
  const std::uint32_t at = checked_offset(cta, address, bytes, "load");
  cta.shadow.read({thread.agent, thread.clock.now, byte_mask(at, bytes)}, thread.clock.view(),
                  at / kGranule);
  std::memcpy(value, &cta.bytes[at], bytes);
}

void store_shared(std::uint32_t address, const void* value, std::uint32_t bytes) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  Cta& cta = *thread.cta;
  const std::uint32_t at = checked_offset(cta, address, bytes, "store");
  cta.shadow.write({thread.agent, thread.clock.now, byte_mask(at, bytes)}, thread.clock.view(),
                   at / kGranule);
  std::memcpy(&cta.bytes[at], value, bytes);
}

void store_shared_cluster(std::uint32_t address, const void* value, std::uint32_t bytes) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  Cta& cta = mapped_cta(thread, address, "store");
  const std::uint32_t at = checked_offset(cta, unmapped(address), bytes, "store");
  try {
    cta.shadow.write({thread.agent, thread.clock.now, byte_mask(at, bytes)}, thread.clock.view(),
                     at / kGranule);
  } catch (const ShadowError& error) {
    throw FaultError(error.kind(), cta.describe(at) + ": " + error.what());
  }
  History& history = thread.cluster->history();
  if (&cta != thread.cta && history.knowing_fences.empty())
    history.knowing_fences.resize(history.proxy_fences.size());
  std::memcpy(&cta.bytes[at], value, bytes);
}

void load_global(std::uint64_t address, void* value, std::uint32_t bytes) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread, Cost::kGlobalLoad);
  check_dependency(thread);
  check_global(address, bytes, "load");
  check_stores_seen(thread, address, bytes, "load");
  std::memcpy(value, ordinary(thread, address, bytes, false, "load"), bytes);
}

void store_global(std::uint64_t address, const void* value, std::uint32_t bytes) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread, Cost::kGlobalStore);
  check_dependency(thread);
  check_global(address, bytes, "store");
  std::uint8_t* target = ordinary(thread, address, bytes, true, "store");
  check_store(thread, address, bytes);
  std::memcpy(target, value, bytes);
}

namespace {

// Four bytes for an atomic access, after the ordinary stores to them.
std::uint8_t* atomic(Thread& thread, std::uint64_t address, bool write) {
  check_dependency(thread);
  check_global(address, 4, "atomic");
  check_stores_seen(thread, address, 4, "atomic");
  return ordinary(thread, address, 4, write, "atomic");
}

std::uint32_t add_to(std::uint64_t address, std::uint8_t* bytes, std::uint32_t value) {
  std::uint32_t old = 0;
  std::memcpy(&old, bytes, 4);
  const std::uint32_t sum = old + value;
  std::memcpy(bytes, &sum, 4);
  for (Thread* waiting : std::exchange(me().cluster->memory().waiting(address), {})) {
    --waiting->cluster->waiting_for_memory;
    waiting->cluster->wake(*waiting);
  }
  return old;
}

}  // namespace

std::int32_t compare_and_swap_global(std::uint64_t address, std::int32_t expected,
                                     std::int32_t desired) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread, Cost::kAtomic);
  std::uint8_t* bytes = atomic(thread, address, true);
  std::int32_t old = 0;
  std::memcpy(&old, bytes, 4);
  if (old == expected) std::memcpy(bytes, &desired, 4);
  return old;
}

std::uint32_t add_global(std::uint64_t address, std::uint32_t value) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread, Cost::kAtomic);
  return add_to(address, atomic(thread, address, true), value);
}

std::uint32_t add_global_release(std::uint64_t address, std::uint32_t value) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread, Cost::kAtomic);
  std::uint8_t* bytes = atomic(thread, address, true);
  acquire_globally(thread, address);
  release_globally(thread, address);
  return add_to(address, bytes, value);
}

std::uint32_t load_global_acquire(std::uint64_t address) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread, Cost::kGlobalLoad);
  acquire_globally(thread, address);
  std::uint32_t value = 0;
  std::memcpy(&value, atomic(thread, address, false), 4);
  return value;
}

void wait_global_acquire(std::uint64_t address, std::uint32_t least) {
  Thread& thread = me();
  while (load_global_acquire(address) < least) {
    ++thread.cluster->waiting_for_memory;
    thread.cluster->memory().waiting(address).push_back(&thread);
    thread.cluster->block(thread, {WaitKind::kMemory, least, 0});
  }
}

void max_global(std::uint64_t address, std::uint32_t value) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread, Cost::kAtomic);
  check_dependency(thread);
  check_global(address, 4, "atomic");
  std::uint8_t* bytes = ordinary(thread, address, 4, true, "atomic");
  std::uint32_t most = 0;
  std::memcpy(&most, bytes, 4);
  most = std::max(most, value);
  std::memcpy(bytes, &most, 4);
}

std::uint16_t bf16_bits(float x) {
  return float_to_bf16(x);
}
std::uint16_t fp16_bits(float x) {
  return float_to_fp16(x);
}
float bf16_value(std::uint16_t bits) {
  return bf16_to_float(bits);
}
float fp16_value(std::uint16_t bits) {
  return fp16_to_float(bits);
}

std::uint8_t e4m3_code(float x) {
  return float_to_fp8(x, 3, 7, 0x7e);
}
std::uint8_t e5m2_code(float x) {
  return float_to_fp8(x, 2, 15, 0x7b);
}

void fence_async_shared() {
  Thread& thread = me();
  if (thread.cluster->timed()) thread.cluster->checkpoint(thread, Cost::kProxyFence);
  History& history = thread.cluster->history();
  if (!history.knowing_fences.empty())
    history.knowing_fences[thread.agent].push_back({thread.clock.now, thread.clock.known});
  history.proxy_fences[thread.agent].add(thread.clock.now++);
}

}  // namespace wgrad::emu
