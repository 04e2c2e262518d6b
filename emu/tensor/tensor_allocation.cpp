// tcgen05.alloc, dealloc, relinquish_alloc_permit. PTX ISA, 9.7.16.7; pairs: 9.7.16.5 "Issue
// Granularity", 9.7.16.7.1 (cta_group::2). That a pair's memory may only be freed once the peer's
// allocation has ended is what a B300 does
// (docs/notes/2026-12-01-the-emulated-blackwell-machine.md).
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/cluster.hpp"
#include "emu/warp.hpp"
#include "wgrad/arch/emu/tcgen05_instructions.hpp"

namespace wgrad::emu {
namespace {

constexpr std::uint32_t kWriter = 31;  // any lane may be the one that stores the address

void require(bool ok, const std::string& what) {
  if (!ok) throw FaultError(FaultKind::kIllegal, what);
}

Cta& peer_of(Cta& cta) {
  return cta.cluster->cta(cta.rank ^ 1);
}

// What all lanes must agree on, as one number.
void require_uniform(const Warp& warp, const char* action) {
  const bool same =
      std::all_of(warp.in.begin(), warp.in.end(), [&](std::uint64_t x) { return x == warp.in[0]; });
  require(same, fmt::format("{} with different operands in one warp", action));
}

void grant(Cta& cta, std::uint32_t column) {
  TensorAllocator& allocator = cta.tensor_allocator;
  const std::uint32_t columns = allocator.allocate.columns.columns;
  cta.tensor.allocate({column, columns});
  cta.tensor.least_columns = columns;
  allocator.allocate.open = false;
  allocator.address = column;
  ++allocator.allocated;
  cta.cluster->wake_all(allocator.waiting);
}

// Grants what is asked for, if it is there.
void try_allocate(Cta& cta, std::uint32_t ctas) {
  const TensorRequest& mine = cta.tensor_allocator.allocate;
  if (!mine.open) return;
  Cta* peer = ctas == 2 ? &peer_of(cta) : nullptr;
  if (peer != nullptr) {
    const TensorRequest& other = peer->tensor_allocator.allocate;
    if (!other.open) return;
    require(mine.slot == other.slot && mine.warp == other.warp &&
                mine.columns.columns == other.columns.columns,
            "tensor_memory_alloc by a pair of CTAs with different warps, slots or columns");
  }
  const auto column = cta.tensor.place(mine.columns.columns, cta.cluster->random());
  if (!column) return;
  grant(cta, *column);
  if (peer != nullptr) grant(*peer, *column);
}

void request(Thread& thread, std::uint32_t ctas, std::uint32_t slot, std::uint32_t columns) {
  Cta& cta = *thread.cta;
  require(std::has_single_bit(columns) && columns >= 32 && columns <= kTensorColumns,
          fmt::format("tensor_memory_alloc of {} columns: a power of two, 32 to 512", columns));
  require(!cta.tensor.relinquished, "tensor_memory_alloc after tensor_memory_relinquish");
  require(cta.tensor.least_columns == 0 || columns <= cta.tensor.least_columns,
          fmt::format("tensor_memory_alloc of {} columns after one of {}", columns,
                      cta.tensor.least_columns));
  require(!cta.let_next_begin,
          "tensor_memory_alloc after launch_dependents: the next launch may hold the columns while "
          "it waits for this one");
  require(!cta.tensor_allocator.allocate.open, "two tensor_memory_alloc at once in a CTA");
  cta.tensor_allocator.allocate = {true, slot, thread.warp(), {0, columns}};
  try_allocate(cta, ctas);
}

// Lane 0 may find that a CTA of the launch before has the columns.
void wait_for_columns(Thread& thread) {
  Cluster& cluster = *thread.cluster;
  const Grid* before = cluster.grid().before;
  if (thread.lane() != 0 || before == nullptr || cluster.random().below(2) == 0) return;
  while (!before->complete()) {
    cluster.waiting_for_grid().push_back(&thread);
    cluster.block(thread, {WaitKind::kGrid, 0, 0});
  }
}

void store_address(Thread& thread, std::uint32_t at) {
  Cta& cta = *thread.cta;
  const auto mask = static_cast<std::uint16_t>(0xfu << at % kGranule);
  cta.shadow.write({thread.agent, thread.clock.now, mask}, thread.clock.view(), at / kGranule);
  std::memcpy(&cta.bytes[at], &cta.tensor_allocator.address, 4);
  ++cta.tensor_allocator.stored;
  cta.tensor_allocator.last = thread.agent;
  cta.tensor_allocator.done = thread.clock.now++;
}

// Whether all is over for one of the warp's lanes: the instruction waits for all of them.
void require_idle(const Thread& thread, const Cta& cta, const TensorAllocation& columns) {
  Cluster& cluster = *thread.cluster;
  const TensorHistory& history = cluster.tensor().history;
  cta.tensor.require_idle(columns, history, [&](std::uint32_t operation) {
    TensorOrder order = TensorOrder::kUnordered;
    for (std::uint32_t lane = 0; lane < kWarpThreads; ++lane) {
      const Thread& other = cluster.thread(thread.agent - thread.lane() + lane);
      order = history.complete(history.ops[operation], {other.clock.view(), other.fenced.values()});
      if (order == TensorOrder::kOrdered) break;
    }
    return order;
  });
}

void give_back(Cta& cta) {
  TensorAllocator& allocator = cta.tensor_allocator;
  cta.tensor.deallocate(allocator.free.columns);
  allocator.free.open = false;
  ++allocator.freed;
  cta.cluster->wake_all(allocator.waiting);
}

void require_peer_allocated(const Thread& thread, const Cta& peer) {
  const TensorAllocator& other = peer.tensor_allocator;
  const bool stored = other.last != kNoAgent && other.stored == other.allocated;
  require(stored && thread.clock.view()[other.last] >= other.done,
          fmt::format("tensor_memory_free before the allocation of CTA {} of the pair is known to "
                      "have ended (a barrier of the cluster between the two)",
                      peer.block));
}

void release(Thread& thread, std::uint32_t ctas, const TensorAllocation& columns) {
  Cta& cta = *thread.cta;
  const auto& held = cta.tensor.allocations();
  require(std::any_of(held.begin(), held.end(),
                      [&](const TensorAllocation& a) {
                        return a.column == columns.column && a.columns == columns.columns;
                      }),
          fmt::format("tensor_memory_free of {} columns at {}, which are no allocation",
                      columns.columns, columns.column));
  require_idle(thread, cta, columns);
  cta.tensor_allocator.free = {true, 0, thread.warp(), columns};
  if (ctas == 1) {
    give_back(cta);
    return try_allocate(cta, 1);
  }
  Cta& peer = peer_of(cta);
  require_peer_allocated(thread, peer);
  require_idle(thread, peer, columns);
  const TensorRequest& other = peer.tensor_allocator.free;
  if (!other.open) return;
  require(other.columns.column == columns.column && other.columns.columns == columns.columns,
          "tensor_memory_free of different columns by the CTAs of a pair");
  give_back(cta);
  give_back(peer);
  try_allocate(cta, 2);
}

}  // namespace

void use_cta_group(Cluster& cluster, std::uint32_t ctas) {
  std::uint32_t& used = cluster.tensor().ctas;
  require(used == 0 || used == ctas,
          fmt::format("cta_group::{} in a kernel that uses cta_group::{}", ctas, used));
  require(ctas == 1 || cluster.size() % 2 == 0,
          fmt::format("cta_group::2 in a cluster of {}", cluster.size()));
  used = ctas;
}

void tensor_memory_alloc(std::uint32_t ctas, std::uint32_t slot, std::uint32_t columns) {
  Thread& thread = me();
  Cluster& cluster = *thread.cluster;
  Cta& cta = *thread.cta;
  cluster.checkpoint(thread);
  use_cta_group(cluster, ctas);
  const std::uint32_t at = cta.offset(slot, 4, "tensor_memory_alloc");
  if (at % 4 != 0)
    throw FaultError(FaultKind::kMisaligned, "tensor_memory_alloc to " + cta.describe(at));
  if (ctas == 2) require_running(thread, peer_of(cta), "tensor_memory_alloc");
  wait_for_columns(thread);
  gather(thread, "tensor_memory_alloc", std::uint64_t{columns} << 32 | at, [&](Warp& w) {
    require_uniform(w, "tensor_memory_alloc");
    request(thread, ctas, at, columns);
  });
  TensorAllocator& allocator = cta.tensor_allocator;
  const std::uint64_t mine =
      allocator.allocate.open ? allocator.allocated + 1 : allocator.allocated;
  while (allocator.allocated < mine) {
    allocator.waiting.push_back(&thread);
    cluster.block(thread, {WaitKind::kTensorAllocation, ctas, 0});
  }
  if (thread.lane() == kWriter) store_address(thread, at);
}

void tensor_memory_relinquish(std::uint32_t ctas) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  use_cta_group(*thread.cluster, ctas);
  converge(thread, "tensor_memory_relinquish");
  thread.cta->tensor.relinquished = true;
}

void tensor_memory_free(std::uint32_t ctas, std::uint32_t address, std::uint32_t columns) {
  Thread& thread = me();
  Cluster& cluster = *thread.cluster;
  TensorAllocator& allocator = thread.cta->tensor_allocator;
  cluster.checkpoint(thread);
  use_cta_group(cluster, ctas);
  require(lane_of(address) == 0, "tensor_memory_free of an address that is not in lane 0");
  if (ctas == 2) require_running(thread, peer_of(*thread.cta), "tensor_memory_free");
  gather(thread, "tensor_memory_free", std::uint64_t{columns} << 32 | address, [&](Warp& w) {
    require_uniform(w, "tensor_memory_free");
    release(thread, ctas, {column_of(address), columns});
  });
  const std::uint64_t mine = allocator.free.open ? allocator.freed + 1 : allocator.freed;
  while (allocator.freed < mine) {
    allocator.waiting.push_back(&thread);
    cluster.block(thread, {WaitKind::kTensorFree, ctas, 0});
  }
}

}  // namespace wgrad::emu
