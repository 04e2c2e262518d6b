// The copy engine: tensor boxes and plain bytes, between global and shared memory, at the
// adversary's pace.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "emu/arithmetic/half.hpp"
#include "emu/cluster.hpp"
#include "wgrad/arch/emu/instructions.hpp"

namespace wgrad::emu {
namespace {

constexpr std::uint32_t kTargetAlignment = 128;

using Coordinates = std::array<std::int32_t, 5>;

TensorMapFields checked_map(const TensorMap& map, const std::int32_t* x, std::uint32_t rank) {
  const TensorMapFields fields = decode(map);
  if (fields.rank != rank) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("a {}-D copy with a {}-D tensor map", rank, fields.rank));
  }
  require_aligned_box(fields, x);
  return fields;
}

TensorMapFields plain_bytes(std::uint64_t address, std::uint32_t bytes) {
  if (address % 16 != 0 || bytes % 16 != 0 || bytes == 0) {
    throw FaultError(FaultKind::kMisaligned,
                     fmt::format("bulk copy of {} bytes at {:#x}", bytes, address));
  }
  TensorMapFields f;
  f.base = address;
  f.rank = 1;
  f.element = Element::kFp32;
  f.dims[0] = f.box[0] = bytes / 4;
  f.swizzle = Swizzle::kNone;
  return f;
}

Coordinates copy_of(const std::int32_t* x, std::uint32_t rank) {
  Coordinates all{};
  std::copy_n(x, rank, all.begin());
  return all;
}

// The copy engine writes whole 16-byte units of a row, past the tensor's edge too.
void widen(BoxRow& row) {
  row.first = row.first / 16 * 16;
  row.last = (row.last + 15) / 16 * 16;
}

// Calls `use(row, span)` with the bytes of each row of the box that lie inside the tensor.
template <typename Use>
void for_each_span(Cluster& cluster, const TensorMapFields& map, const std::int32_t* x, bool write,
                   const char* action, const Use& use) {
  const std::uint32_t rows = box_rows(map);
  for (std::uint32_t i = 0; i < rows; ++i) {
    BoxRow row = box_row(map, x, i);
    if (row.first == row.last) continue;
    if (write) widen(row);
    use(row, cluster.memory().span(row.address + row.first, row.last - row.first, write, action));
  }
}

void touch(Cluster& cluster, const TensorMapFields& map, const std::int32_t* x,
           const ClockView& view, bool write, std::uint32_t record, const char* action) {
  const std::uint32_t rank = cluster.history().rank_of({record | kAsync, 0, 0});
  for_each_span(
      cluster, map, x, write, action, [&](const BoxRow& row, const GlobalMemory::Span& span) {
        const std::uint64_t from = row.address + row.first;
        cluster.memory().visit_stores(from, row.last - row.first, [&](const auto& store) {
          check_store_seen(cluster, store, rank, view, from, action);
        });
        for (std::uint64_t i = 0; i < span.trace_count; ++i) {
          check_touch(cluster, span.trace[i], view, write, row.address + row.first + 16 * i);
          (write ? span.trace[i].writer : span.trace[i].reader) = cluster.trace_id(record);
        }
      });
}

std::uint32_t checked_shared(const Cta& cta, std::uint32_t address, std::uint32_t bytes,
                             std::uint32_t alignment, const char* action) {
  const std::uint32_t at = cta.offset(address, bytes, action);
  if (address % alignment != 0) {
    throw FaultError(FaultKind::kMisaligned, fmt::format("{} at {}, which is off a {}-byte address",
                                                         action, cta.describe(at), alignment));
  }
  for (std::uint32_t i = at / 8; i < (at + bytes) / 8; ++i) {
    if (cta.barrier_at[i] != 0) {
      throw FaultError(FaultKind::kIllegal,
                       fmt::format("{} over the mbarrier {}", action, cta.describe(8 * i)));
    }
  }
  return at;
}

void shadow_range(Cta& cta, const Access& access, const ClockView& view, std::uint32_t at,
                  std::uint32_t bytes, bool write) {
  for (std::uint32_t g = at / kGranule; g < (at + bytes) / kGranule; ++g) {
    try {
      write ? cta.shadow.write(access, view, g) : cta.shadow.read(access, view, g);
    } catch (const ShadowError& error) {
      throw FaultError(error.kind(), cta.describe(g * kGranule) + ": " + error.what());
    }
  }
}

/// Where a load counts its bytes.
struct Counter {
  Cta* cta;
  std::uint32_t address;
};

void issue_load(Thread& thread, Cta& target, std::uint32_t at, const TensorMapFields& map,
                const Coordinates& x, const Counter& counter, std::uint32_t alignment,
                std::uint32_t copies = 1) {
  Cluster& cluster = *thread.cluster;
  const std::uint32_t bytes = box_rows(map) * row_bytes(map);
  if (target.live == 0) throw FaultError(FaultKind::kIllegal, "a copy into a CTA that has exited");
  Mbarrier& barrier = counter.cta->barrier(counter.address, "load");
  require_fenced(*counter.cta, barrier, thread, "load");
  const std::uint32_t offset = checked_shared(target, at, bytes, alignment, "load");
  auto& ops = cluster.history().ops;
  const auto record = static_cast<std::uint32_t>(ops.size());
  ops.push_back(
      {OpKind::kLoad, 1, barrier.agent, 0, barrier.agent, thread.cta->block, thread.index});
  shadow_range(target, {record | kAsync, 0, 0xffff}, thread.clock.view(), offset, bytes, true);
  touch(cluster, map, x.data(), thread.clock.view(), false, record, "load");
  ++target.loads_in_flight;
  const std::uint32_t slot = counter.cta->barrier_at[barrier.offset / 8] - 1u;
  cluster.schedule(EventKind::kLoad,
                   cluster.add_load({map, x, &target, at, counter.cta, slot, record, copies, 0}));
}

void require_bulk_agent(Thread& thread) {
  if (thread.bulk_agent != kNoAgent) return;
  if (thread.cta->bulk_threads == kMaxBulkThreads) {
    throw FaultError(FaultKind::kIllegal, "more threads with bulk stores than are modelled");
  }
  thread.bulk_agent = thread.cluster->bulk_agent(*thread.cta, thread.cta->bulk_threads++);
  thread.bulk_groups.emplace_back();
}

void issue_store(const TensorMapFields& map, const Coordinates& x, std::uint32_t source, bool add,
                 std::uint32_t alignment) {
  Thread& thread = me();
  Cta& cta = *thread.cta;
  Cluster& cluster = *thread.cluster;
  cluster.checkpoint(thread, Cost::kCopyIssue);
  check_dependency(thread);
  ++cluster.stats().stores;
  require_bulk_agent(thread);
  const std::uint32_t bytes = box_rows(map) * row_bytes(map);
  const std::uint32_t at = checked_shared(cta, source, bytes, alignment, "store");
  const auto group = thread.bulk_first + static_cast<std::uint32_t>(thread.bulk_groups.size()) - 1;
  auto& ops = cluster.history().ops;
  const auto record = static_cast<std::uint32_t>(ops.size());
  ops.push_back({add ? OpKind::kAdd : OpKind::kStore, 1, thread.bulk_agent, group,
                 thread.bulk_agent + 1, cta.block, thread.index});
  shadow_range(cta, {record | kAsync, 0, 0xffff}, thread.clock.view(), at, bytes, false);
  touch(cluster, map, x.data(), thread.clock.view(), true, record, add ? "reduce-add" : "store");
  BulkGroup& open = thread.bulk_groups.back();
  open.used = true;
  ++open.reads;
  ++open.writes;
  ++cta.reads_in_flight;
  cluster.schedule(EventKind::kStoreRead,
                   cluster.add_store({map, x, &thread, source, group, add, {}}));
}

void add_elements(Element element, std::uint8_t* target, const std::uint8_t* source,
                  std::uint32_t bytes) {
  const std::uint32_t size = element_bytes(element);
  for (std::uint32_t i = 0; i < bytes; i += size) {
    if (element == Element::kFp32) {
      float x = 0, y = 0;
      std::memcpy(&x, target + i, 4);
      std::memcpy(&y, source + i, 4);
      x += y;
      std::memcpy(target + i, &x, 4);
    } else {
      std::uint16_t x = 0, y = 0;
      std::memcpy(&x, target + i, 2);
      std::memcpy(&y, source + i, 2);
      const bool fp16 = element == Element::kFp16;
      const float sum =
          fp16 ? fp16_to_float(x) + fp16_to_float(y) : bf16_to_float(x) + bf16_to_float(y);
      x = fp16 ? float_to_fp16(sum) : float_to_bf16(sum);
      std::memcpy(target + i, &x, 2);
    }
  }
}

}  // namespace

bool land(Cluster& cluster, std::uint32_t index) {
  LoadOp& op = cluster.loads_[index];
  Cta& cta = *op.cta;
  const std::uint32_t rows = box_rows(op.map), width = row_bytes(op.map);
  // A copy lands in pieces: each counts its bytes when it is there.
  const std::uint32_t left = rows - op.rows_done;
  const std::uint32_t piece =
      cluster.timed() || cluster.random().below(2) == 0 ? left : 1 + cluster.random().below(left);
  for (std::uint32_t i = op.rows_done; i < op.rows_done + piece; ++i) {
    const BoxRow row = box_row(op.map, op.x.data(), i);
    for (std::uint32_t chunk = 0; chunk < width; chunk += 16) {
      const std::uint32_t at = swizzled(op.map.swizzle, op.target + i * width + chunk) - cta.base;
      const std::uint32_t first = std::clamp(row.first, chunk, chunk + 16) - chunk;
      const std::uint32_t last = std::clamp(row.last, chunk, chunk + 16) - chunk;
      if (last - first != 16) std::memset(&cta.bytes[at], op.map.fill == Fill::kNan ? 0xff : 0, 16);
      if (last == first) continue;
      std::memcpy(&cta.bytes[at + first],
                  reinterpret_cast<const std::uint8_t*>(row.address + chunk + first), last - first);
    }
  }
  op.rows_done += piece;
  Mbarrier& barrier = *op.barrier_cta->barriers[op.barrier];
  const bool complete = op.rows_done == rows;
  if (complete) {
    cluster.history().ops[op.record].clock = barrier.loaded = barrier.phase + 1;
    if (op.barrier_cta != &cta) cta.exits.awaited[barrier.agent] = barrier.loaded;
    --cta.loads_in_flight;
  }
  complete_bytes(*op.barrier_cta, barrier, piece * width);
  return complete;
}

void read_source(Cluster& cluster, std::uint32_t index) {
  StoreOp& op = cluster.stores_[index];
  Cta& cta = *op.thread->cta;
  const std::uint32_t rows = box_rows(op.map), width = row_bytes(op.map);
  op.bytes.resize(std::size_t{rows} * width);
  for (std::uint32_t i = 0; i < rows * width; i += 16) {
    std::memcpy(&op.bytes[i], &cta.bytes[swizzled(op.map.swizzle, op.source + i) - cta.base], 16);
  }
  --cta.reads_in_flight;
  Thread& thread = *op.thread;
  if (op.group >= thread.bulk_first) --thread.bulk_groups[op.group - thread.bulk_first].reads;
  if (thread.wait.kind == WaitKind::kBulk) cluster.wake(thread);
}

void write_target(Cluster& cluster, std::uint32_t index) {
  StoreOp& op = cluster.stores_[index];
  const std::uint32_t rows = box_rows(op.map), width = row_bytes(op.map);
  for (std::uint32_t i = 0; i < rows; ++i) {
    BoxRow row = box_row(op.map, op.x.data(), i);
    if (row.first == row.last) continue;
    widen(row);
    auto* target = reinterpret_cast<std::uint8_t*>(row.address + row.first);
    const std::uint8_t* source = &op.bytes[i * width + row.first];
    if (op.add) {
      add_elements(op.map.element, target, source, row.last - row.first);
    } else {
      std::memcpy(target, source, row.last - row.first);
    }
  }
  Thread& thread = *op.thread;
  if (op.group >= thread.bulk_first) --thread.bulk_groups[op.group - thread.bulk_first].writes;
  if (thread.wait.kind == WaitKind::kBulk) cluster.wake(thread);
}

void prefetch_map(const TensorMap& map) {
  decode(map);
}

void load_box(std::uint32_t target, const TensorMap& map, std::uint32_t barrier,
              const std::int32_t* x, std::uint32_t rank, std::uint32_t cta_mask) {
  Thread& thread = me();
  Cluster& cluster = *thread.cluster;
  cluster.checkpoint(thread, Cost::kCopyIssue);
  check_dependency(thread);
  ++cluster.stats().loads;
  const TensorMapFields fields = checked_map(map, x, rank);
  const std::uint32_t mask = cta_mask == 0 ? 1u << thread.cta->rank : cta_mask;
  if (mask >> cluster.size() != 0) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("multicast mask {:#x} in a cluster of {}", mask, cluster.size()));
  }
  const std::uint32_t at = thread.cta->offset(target, 1, "load");
  const std::uint32_t barrier_at = thread.cta->offset(barrier, 8, "load");
  for (std::uint32_t rank_to = 0; rank_to < cluster.size(); ++rank_to) {
    if ((mask >> rank_to & 1) == 0) continue;
    Cta& cta = cluster.cta(rank_to);
    issue_load(thread, cta, cta.base + at, fields, copy_of(x, rank), {&cta, cta.base + barrier_at},
               kTargetAlignment, static_cast<std::uint32_t>(std::popcount(mask)));
  }
}

void load_bytes(std::uint32_t target, std::uint64_t source, std::uint32_t bytes,
                std::uint32_t barrier) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread, Cost::kCopyIssue);
  check_dependency(thread);
  ++thread.cluster->stats().loads;
  issue_load(thread, *thread.cta, target, plain_bytes(source, bytes), {}, {thread.cta, barrier},
             16);
}

// cta_group::2 (PTX ISA, 9.7.9.27.1.2): the mbarrier may be the peer's.
void load_box_of_pair(std::uint32_t target, const TensorMap& map, std::uint32_t mapped_barrier,
                      const std::int32_t* x, std::uint32_t rank) {
  Thread& thread = me();
  Cluster& cluster = *thread.cluster;
  cluster.checkpoint(thread, Cost::kCopyIssue);
  check_dependency(thread);
  use_cta_group(cluster, 2);
  ++cluster.stats().loads;
  Cta& counting = mapped_cta(thread, mapped_barrier, "load");
  if (counting.rank / 2 != thread.cta->rank / 2) {
    throw FaultError(FaultKind::kIllegal,
                     "a load of a pair that counts on an mbarrier of neither of its CTAs");
  }
  issue_load(thread, *thread.cta, target, checked_map(map, x, rank), copy_of(x, rank),
             {&counting, unmapped(mapped_barrier)}, kTargetAlignment);
}

void store_box(const TensorMap& map, std::uint32_t source, const std::int32_t* x,
               std::uint32_t rank, bool add) {
  issue_store(checked_map(map, x, rank), copy_of(x, rank), source, add, kTargetAlignment);
}

void store_bytes(std::uint64_t target, std::uint32_t source, std::uint32_t bytes) {
  issue_store(plain_bytes(target, bytes), {}, source, false, 16);
}

void prefetch_box(const TensorMap& map, const std::int32_t* x, std::uint32_t rank) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread, Cost::kCopyIssue);
  ++thread.cluster->stats().prefetches;
  for_each_span(*thread.cluster, checked_map(map, x, rank), x, false, "prefetch",
                [](const BoxRow&, const GlobalMemory::Span&) {});
}

void commit_stores() {
  Thread& thread = me();
  require_bulk_agent(thread);
  thread.bulk_groups.emplace_back();
}

void wait_stores(std::uint32_t pending, bool read_only) {
  Thread& thread = me();
  Cluster& cluster = *thread.cluster;
  cluster.checkpoint(thread, Cost::kBulkWait);
  require_bulk_agent(thread);
  const std::uint32_t committed =
      thread.bulk_first + static_cast<std::uint32_t>(thread.bulk_groups.size()) - 2;
  if (committed < pending) return;
  const std::uint32_t last = committed - pending;  // groups up to this number must be done
  const auto outstanding = [&] {
    for (std::uint32_t g = thread.bulk_first; g <= last; ++g) {
      const BulkGroup& group = thread.bulk_groups[g - thread.bulk_first];
      if (read_only ? group.reads != 0 : group.writes != 0) return true;
    }
    return false;
  };
  while (outstanding()) cluster.block(thread, {WaitKind::kBulk, last, 0});
  thread.clock.known = cluster.clocks().with(thread.clock.known, thread.bulk_agent, last);
  if (!read_only)
    thread.clock.known = cluster.clocks().with(thread.clock.known, thread.bulk_agent + 1, last);
  while (thread.bulk_groups.size() > 1 && thread.bulk_first <= last &&
         thread.bulk_groups.front().writes == 0) {
    thread.bulk_groups.pop_front();
    ++thread.bulk_first;
  }
}

}  // namespace wgrad::emu
