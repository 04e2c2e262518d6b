// tcgen05.ld, st, wait. PTX ISA, 9.7.16.8; shapes: 9.7.16.2.3 "Data Movement Shape". A warp reaches
// its quarter of the lanes. Registers of a load hold NaN until its thread has waited.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "emu/cluster.hpp"
#include "emu/warp.hpp"
#include "wgrad/arch/emu/tcgen05_instructions.hpp"

namespace wgrad::emu {
namespace {

struct Place {
  std::uint32_t lane;
  std::uint32_t column;
};

// Register k of lane t, beside the address.
Place place_of(LaneShape shape, std::uint32_t t, std::uint32_t k) {
  if (shape == LaneShape::k32x32b) return {t, k};
  return {t / 4 + k / 2 % 2 * 8, t % 4 * 2 + k % 2 + k / 4 * 8};
}

TensorRange range_of(LaneShape shape, std::uint32_t address, std::uint32_t count) {
  const bool whole = shape == LaneShape::k32x32b;
  return {lane_of(address), whole ? 32u : 16u, column_of(address), whole ? count : count * 2};
}

void check_lanes(const Thread& thread, LaneShape shape, std::uint32_t address, const char* action) {
  const std::uint32_t first = thread.warp() % 4 * kQuarterLanes, lane = lane_of(address);
  if (lane == first || (shape == LaneShape::k16x256b && lane == first + 16)) return;
  throw FaultError(FaultKind::kIllegal,
                   fmt::format("{} at lane {} by warp {}, which reaches lanes {} to {}", action,
                               lane, thread.warp(), first, first + kQuarterLanes - 1));
}

TensorView view_of(const Thread& thread) {
  return {thread.clock.view(), thread.fenced.values()};
}

// What the warp's lanes brought: the address, and each one's clock.
void note_access(Thread& thread, const Warp& warp, TensorOpKind kind, LaneShape shape,
                 std::uint32_t count, const char* action) {
  Cluster& cluster = *thread.cluster;
  TensorHistory& history = cluster.tensor().history;
  const Agent first = thread.agent - thread.lane();
  TensorOp op;
  op.kind = kind;
  op.cta = thread.cta->block;
  op.thread = thread.index - thread.lane();
  op.agent = first;
  op.lanes = static_cast<std::uint32_t>(history.lane_clocks.size());
  auto& clocks = history.lane_clocks.emplace_back();
  const auto address = static_cast<std::uint32_t>(warp.in[0]);
  for (std::uint32_t lane = 0; lane < kWarpThreads; ++lane) {
    clocks[lane] = static_cast<Clock>(warp.in[lane] >> 32);
    if (static_cast<std::uint32_t>(warp.in[lane]) != address) {
      throw FaultError(FaultKind::kIllegal,
                       fmt::format("{} with different addresses in one warp", action));
    }
  }
  const auto number = static_cast<std::uint32_t>(history.ops.size());
  history.ops.push_back(op);
  const auto mode =
      kind == TensorOpKind::kLoad ? TensorMemory::Mode::kRead : TensorMemory::Mode::kWrite;
  thread.cta->tensor.touch(
      range_of(shape, address, count), mode, number, history, [&](std::uint32_t earlier) {
        for (std::uint32_t lane = 0; lane < kWarpThreads; ++lane) {
          const TensorOrder order = history.order(history.ops[earlier], history.ops[number],
                                                  view_of(cluster.thread(first + lane)));
          if (order != TensorOrder::kOrdered) return order;
        }
        return TensorOrder::kOrdered;
      });
}

template <typename Use>
void for_each_word(Thread& thread, LaneShape shape, std::uint32_t address, std::uint32_t count,
                   const Use& use) {
  for (std::uint32_t k = 0; k < count; ++k) {
    const Place p = place_of(shape, thread.lane(), k);
    use(k, thread.cta->tensor.words(lane_of(address) + p.lane)[column_of(address) + p.column]);
  }
}

void capture(Thread& thread, HeldLoad& load) {
  load.words.resize(load.count);
  for_each_word(thread, load.shape, load.address, load.count,
                [&](std::uint32_t k, std::uint32_t word) { load.words[k] = word; });
}

void put(Thread& thread, const HeldStore& store) {
  for_each_word(thread, LaneShape::k32x32b, store.address,
                static_cast<std::uint32_t>(store.words.size()),
                [&](std::uint32_t k, std::uint32_t& word) { word = store.words[k]; });
}

std::uint64_t brought(const Thread& thread, std::uint32_t address) {
  return std::uint64_t{thread.clock.now} << 32 | address;
}

}  // namespace

void tensor_memory_load(LaneShape shape, float* registers, std::uint32_t count,
                        std::uint32_t address) {
  Thread& thread = me();
  Cluster& cluster = *thread.cluster;
  cluster.checkpoint(thread);
  check_lanes(thread, shape, address, "tensor_memory_load");
  gather(thread, "tensor_memory_load", brought(thread, address), [&](const Warp& w) {
    note_access(thread, w, TensorOpKind::kLoad, shape, count, "tensor_memory_load");
  });
  HeldLoad& load = thread.tensor_loads.emplace_back();
  load = {registers, shape, address, count, {}};
  if (cluster.random().below(2) == 0) capture(thread, load);
  std::fill_n(registers, count, std::numeric_limits<float>::quiet_NaN());
}

void tensor_memory_store(std::uint32_t address, const float* registers, std::uint32_t count) {
  Thread& thread = me();
  Cluster& cluster = *thread.cluster;
  cluster.checkpoint(thread);
  check_lanes(thread, LaneShape::k32x32b, address, "tensor_memory_store");
  gather(thread, "tensor_memory_store", brought(thread, address), [&](const Warp& w) {
    note_access(thread, w, TensorOpKind::kStore, LaneShape::k32x32b, count, "tensor_memory_store");
  });
  HeldStore& store = thread.tensor_stores.emplace_back();
  store.address = address;
  for (std::uint32_t k = 0; k < count; ++k)
    store.words.push_back(std::bit_cast<std::uint32_t>(registers[k]));
}

void tensor_memory_wait_loads() {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  converge(thread, "tensor_memory_wait_loads");
  for (HeldLoad& load : thread.tensor_loads) {
    if (load.words.empty()) capture(thread, load);
    for (std::uint32_t k = 0; k < load.count; ++k)
      load.registers[k] = std::bit_cast<float>(load.words[k]);
  }
  thread.tensor_loads.clear();
  thread.cluster->tensor().history.load_waits[thread.agent].add(thread.clock.now++);
}

void tensor_memory_wait_stores() {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  converge(thread, "tensor_memory_wait_stores");
  for (const HeldStore& store : thread.tensor_stores) put(thread, store);
  thread.tensor_stores.clear();
  thread.cluster->tensor().history.store_waits[thread.agent].add(thread.clock.now++);
}

}  // namespace wgrad::emu
