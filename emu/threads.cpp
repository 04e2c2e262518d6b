// Barriers of threads, warp collectives, register moves, exit.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "emu/cluster.hpp"
#include "emu/warp.hpp"
#include "wgrad/arch/emu/instructions.hpp"

namespace wgrad::emu {
namespace {

// The last of `needed` arrivals lets everybody go.
void meet(Thread& thread, NamedBarrier& barrier, std::uint32_t needed, Wait wait) {
  Cluster& cluster = *thread.cluster;
  if (barrier.gate == nullptr) barrier.gate = std::make_unique<Gate>(cluster.clocks());
  wait.kind == WaitKind::kCluster ? barrier.gate->release_widely(thread.clock)
                                  : barrier.gate->release(thread.clock);
  if (++barrier.arrived < needed) {
    const std::uint64_t generation = barrier.generation;
    barrier.waiting.push_back(&thread);
    while (barrier.generation == generation) cluster.block(thread, wait);
  } else {
    barrier.arrived = 0;
    barrier.count = 0;
    barrier.result = std::exchange(barrier.any, false);
    ++barrier.generation;
    barrier.gate->publish();
    cluster.wake_all(barrier.waiting);
  }
  barrier.gate->acquire(thread.clock);
}

void release_if_complete(NamedBarrier& barrier, std::uint32_t needed, Cluster& cluster) {
  if (barrier.arrived == 0 || barrier.arrived < needed) return;
  barrier.arrived = 0;
  barrier.count = 0;
  ++barrier.generation;
  barrier.gate->publish();
  cluster.wake_all(barrier.waiting);
}

void move_registers(Thread& thread, std::uint32_t count, bool claim) {
  if (count % 8 != 0 || count < 24 || count > 256) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("setmaxnreg {} is not a multiple of 8 from 24 to 256", count));
  }
  Cta& cta = *thread.cta;
  Warp& warp = cta.warps[thread.warp()];
  gather(thread, claim ? "claim_registers" : "release_registers", count, [&](Warp& w) {
    if (std::any_of(w.in.begin(), w.in.end(), [&](std::uint64_t x) { return x != count; })) {
      throw FaultError(FaultKind::kIllegal, "setmaxnreg with different counts in one warp");
    }
    if (claim ? count < w.registers : count > w.registers) {
      throw FaultError(FaultKind::kIllegal,
                       fmt::format("{} of {} registers by a warp that has {}",
                                   claim ? "claim" : "release", count, w.registers));
    }
  });
  if (thread.lane() != 0) return;
  const auto needed = [&] {
    return (static_cast<std::int64_t>(count) - static_cast<std::int64_t>(warp.registers)) *
           kWarpThreads;
  };
  while (claim && needed() > cta.free_registers) {
    cta.register_waiting.push_back(&thread);
    thread.cluster->block(thread, {WaitKind::kRegisters, count, 0});
  }
  cta.free_registers -= needed();
  warp.registers = count;
  thread.cluster->wake_all(cta.register_waiting);
}

/// What a lane's word of matrix `j` is made of: halves of neighbouring columns, or of neighbouring
/// rows.
std::uint32_t matrix_word(const Warp& w, const Cta& cta, std::uint32_t j, std::uint32_t lane,
                          bool transposed) {
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < 2; ++i) {
    const std::uint32_t minor = 2 * (lane % 4) + i;
    const std::uint32_t row = transposed ? minor : lane / 4, column = transposed ? lane / 4 : minor;
    std::uint16_t half = 0;
    std::memcpy(&half, &cta.bytes[w.in[8 * j + row] + std::size_t{2} * column], 2);
    word |= std::uint32_t{half} << (16 * i);
  }
  return word;
}

void load_any_matrices(std::uint32_t row_address, std::uint32_t* words, bool transposed) {
  Thread& thread = me();
  Cta& cta = *thread.cta;
  thread.cluster->checkpoint(thread, Cost::kSharedLoad);
  const std::uint32_t at = cta.offset(row_address, 16, "ldmatrix");
  if (at % 16 != 0) throw FaultError(FaultKind::kMisaligned, "ldmatrix row off a 16-byte address");
  const Access access{thread.agent, thread.clock.now, 0xffff};
  cta.shadow.read(access, thread.clock.view(), at / kGranule);
  const Words out = gather(thread, "ldmatrix", at, [&](Warp& w) {
    for (std::uint32_t lane = 0; lane < kWarpThreads; ++lane) {
      for (std::uint32_t j = 0; j < 4; ++j)
        w.out[lane].word[j] = matrix_word(w, cta, j, lane, transposed);
    }
  });
  std::copy_n(out.word.begin(), 4, words);
}

}  // namespace

std::uint32_t thread_index() {
  return me().index;
}
std::uint32_t thread_count() {
  return me().cluster->launch().threads;
}
std::uint32_t block_index() {
  return me().cta->block;
}
std::uint32_t block_count() {
  return me().cluster->launch().ctas;
}
std::uint32_t cluster_rank() {
  return me().cta->rank;
}
std::uint32_t cluster_size() {
  return me().cluster->size();
}

std::uint32_t clock() {
  const Thread& thread = me();
  return static_cast<std::uint32_t>(thread.cluster->timed() ? std::max(thread.time, thread.loaded)
                                                            : thread.cluster->now());
}
std::uint64_t timer_nanoseconds() {
  return static_cast<std::uint64_t>(clock() / TimeModel::kCyclesPerNanosecond);
}

void cta_sync() {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  NamedBarrier& barrier = thread.cta->named[0];
  meet(thread, barrier, thread.cta->live, {WaitKind::kNamed, 0, 0});
}

void named_sync(std::uint32_t index, std::uint32_t count) {
  named_any(index, count, false);
}

// The result stays: nobody can complete the next meeting before all have left this one.
bool named_any(std::uint32_t index, std::uint32_t count, bool value) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  if (index > 15 || count == 0 || count % kWarpThreads != 0 ||
      count > thread.cluster->launch().threads) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("named barrier {} of {} threads", index, count));
  }
  NamedBarrier& barrier = thread.cta->named[index];
  if (barrier.arrived != 0 && barrier.count != count) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("named barrier {} of {} threads, others came for {}", index, count,
                                 barrier.count));
  }
  barrier.count = count;
  barrier.any = barrier.any || value;
  meet(thread, barrier, count, {WaitKind::kNamed, index, 0});
  return barrier.result;
}

void cluster_sync() {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  meet(thread, thread.cluster->barrier(), thread.cluster->live(), {WaitKind::kCluster, 0, 0});
}

void warp_sync() {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  Warp& warp = thread.cta->warps[thread.warp()];
  if (warp.gate == nullptr) warp.gate = std::make_unique<Gate>(thread.cluster->clocks());
  warp.gate->release(thread.clock);
  gather(thread, "warp_sync", 0, [](Warp& w) { w.gate->publish(); });
  warp.gate->acquire(thread.clock);
}

std::uint32_t shuffle(std::uint32_t value, std::uint32_t source_lane) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  const std::uint64_t packed = std::uint64_t{source_lane % kWarpThreads} << 32 | value;
  const Words words = gather(thread, "shuffle", packed, [](Warp& w) {
    for (std::uint32_t i = 0; i < kWarpThreads; ++i) {
      w.out[i].word[0] = static_cast<std::uint32_t>(w.in[w.in[i] >> 32]);
    }
  });
  return words.word[0];
}

std::uint32_t ballot(bool value) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  const Words words = gather(thread, "ballot", value ? 1 : 0, [](Warp& w) {
    std::uint32_t bits = 0;
    for (std::uint32_t i = 0; i < kWarpThreads; ++i)
      bits |= static_cast<std::uint32_t>(w.in[i]) << i;
    for (Words& out : w.out) out.word[0] = bits;
  });
  return words.word[0];
}

bool elect() {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  // Any one lane is allowed, but always the same (PTX ISA, "elect.sync"); the adversary says which.
  const Words words = gather(thread, "elect", 0, [&](Warp& w) {
    if (w.elected == kWarpThreads) w.elected = thread.cluster->random().below(kWarpThreads);
    for (std::uint32_t i = 0; i < kWarpThreads; ++i) w.out[i].word[0] = i == w.elected ? 1 : 0;
  });
  return words.word[0] != 0;
}

void store_matrices(std::uint32_t row_address, const std::uint32_t* words) {
  Thread& thread = me();
  Cta& cta = *thread.cta;
  thread.cluster->checkpoint(thread);
  Warp& warp = cta.warps[thread.warp()];
  const std::uint32_t position = thread.matrix_stores++ - warp.first_store;
  if (position == warp.stores.size()) warp.stores.emplace_back();
  MatrixStore& store = warp.stores[position];
  store.rows[thread.lane()] = row_address;
  std::copy_n(words, 4, store.words[thread.lane()].word.begin());
  store.clocks[thread.lane()] = thread.clock.now;
  if (++store.arrived < kWarpThreads) return;
  for (std::uint32_t lane = 0; lane < kWarpThreads; ++lane) {
    const std::uint32_t at = cta.offset(store.rows[lane], 16, "stmatrix");
    if (at % 16 != 0)
      throw FaultError(FaultKind::kMisaligned, "stmatrix row off a 16-byte address");
    const Agent writer = thread.agent - thread.lane() + lane;
    const ClockView view{thread.clock.known.values(), writer, store.clocks[lane], kNoAgent, 0};
    cta.shadow.write({writer, store.clocks[lane], 0xffff}, view, at / kGranule);
    for (std::uint32_t c = 0; c < 4; ++c) {
      std::memcpy(&cta.bytes[at + 4 * c], &store.words[4 * (lane % 8) + c].word[lane / 8], 4);
    }
  }
  warp.stores.pop_front();  // every lane passes the stores in order, so the front completes first
  ++warp.first_store;
}

void load_matrices(std::uint32_t row_address, std::uint32_t* words) {
  load_any_matrices(row_address, words, false);
}
void load_matrices_transposed(std::uint32_t row_address, std::uint32_t* words) {
  load_any_matrices(row_address, words, true);
}

void converge(Thread& thread, const char* what) {
  gather(thread, what, 0, [](Warp&) {});
}

void release_registers(std::uint32_t count) {
  move_registers(me(), count, false);
}
void claim_registers(std::uint32_t count) {
  move_registers(me(), count, true);
}

void grid_dependency_wait() {
  Thread& thread = me();
  Cluster& cluster = *thread.cluster;
  cluster.checkpoint(thread);
  const Grid* before = cluster.grid().before;
  while (before != nullptr && !before->complete()) {
    cluster.waiting_for_grid().push_back(&thread);
    cluster.block(thread, {WaitKind::kGrid, 0, 0});
  }
  thread.grid_waited = true;
}

// Once a CTA, whichever thread comes first; an end without it counts as well.
void launch_dependents() {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  if (!std::exchange(thread.cta->let_next_begin, true)) ++thread.cluster->grid().ready_ctas;
}

// Who leaves counts as having come.
void release_barriers_of(Thread& thread) {
  Cta& cta = *thread.cta;
  if (cta.named[0].count == 0) release_if_complete(cta.named[0], cta.live - 1, *thread.cluster);
  release_if_complete(thread.cluster->barrier(), thread.cluster->live() - 1, *thread.cluster);
}

}  // namespace wgrad::emu
