// mbarriers: phases, pending arrivals, transaction bytes. PTX ISA, "Parallel Synchronization:
// mbarrier".
#include <fmt/format.h>

#include "emu/cluster.hpp"
#include "wgrad/arch/emu/instructions.hpp"

namespace wgrad::emu {
namespace {

constexpr std::int64_t kMaxBytes = (1 << 20) - 1;
constexpr std::uint32_t kMaxArrivals = (1 << 20) - 1;

void complete_if_done(Cta& cta, Mbarrier& barrier) {
  if (barrier.pending != 0 || barrier.bytes != 0) return;
  barrier.pending = barrier.expected;
  ++barrier.phase;
  barrier.gate.note(barrier.agent, barrier.phase);
  barrier.gate.publish();
  cta.cluster->wake_all(barrier.waiting);
}

// Initialisation must be known to the thread, and fenced when another thread or the copy engine
// relies on it.
void check_made(const Cta& cta, const Mbarrier& barrier, const Thread& thread, const char* action) {
  if (barrier.maker == thread.agent) return;
  if (thread.clock.view()[barrier.maker] < barrier.made) {
    throw FaultError(
        FaultKind::kRace,
        fmt::format("{} of the mbarrier {} whose initialisation nothing orders before it", action,
                    cta.describe(barrier.offset)));
  }
}

void arrive(Cta& cta, Mbarrier& barrier, Thread& thread, bool widely = false) {
  if (barrier.pending == 0) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("one arrival more than the {} of phase {} of mbarrier {}",
                                 barrier.expected, barrier.phase, cta.describe(barrier.offset)));
  }
  if (&cta == thread.cta) {
    barrier.gate.release(thread.clock);
  } else {
    barrier.gate.release_from_afar(thread.clock, widely);
  }
  --barrier.pending;
  complete_if_done(cta, barrier);
}

bool try_wait(std::uint32_t address, std::uint32_t parity, bool widely) {
  Thread& thread = me();
  Cta& cta = *thread.cta;
  thread.cluster->checkpoint(thread, Cost::kTryWait);
  Mbarrier& barrier = cta.barrier(address, "wait");
  check_made(cta, barrier, thread, "wait");
  if ((barrier.phase & 1) == (parity & 1)) {
    if (!thread.cluster->timed() && thread.cluster->random().below(8) == 0)
      return false;  // the hardware's time limit may pass at any moment
    barrier.waiting.push_back(&thread);
    thread.cluster->block(thread, {WaitKind::kMbarrier, barrier.offset, parity & 1});
    // Another phase may have completed meanwhile: as on the hardware, whoever looks late sees only
    // the parity.
    if ((barrier.phase & 1) == (parity & 1)) return false;
  }
  widely ? barrier.gate.acquire_widely(thread.clock) : barrier.gate.acquire(thread.clock);
  return true;
}

}  // namespace

Mbarrier& Cta::barrier(std::uint32_t address, const char* action) {
  const std::uint32_t at = offset(address, 8, action);
  if (at % 8 != 0)
    throw FaultError(FaultKind::kMisaligned,
                     fmt::format("{} of an mbarrier at {}", action, describe(at)));
  if (barrier_at[at / 8] == 0) {
    throw FaultError(FaultKind::kIllegal, fmt::format("{} of {}, which is no initialised mbarrier",
                                                      action, describe(at)));
  }
  return *barriers[barrier_at[at / 8] - 1u];
}

void complete_bytes(Cta& cta, Mbarrier& barrier, std::uint32_t bytes) {
  barrier.bytes -= bytes;
  if (barrier.bytes < -kMaxBytes) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("transaction count of mbarrier {} below its range",
                                 cta.describe(barrier.offset)));
  }
  complete_if_done(cta, barrier);
}

void arrive_committed(Cta& cta, Mbarrier& barrier, const TensorPipe& pipe, Clock number,
                      const SnapshotRef& known) {
  if (barrier.pending == 0) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("a commit's arrival, one more than the {} of phase {} of mbarrier "
                                 "{}",
                                 barrier.expected, barrier.phase, cta.describe(barrier.offset)));
  }
  // What the thread knew comes before its operations; what it did itself does not.
  ThreadClock clock{known, pipe.thread->agent, 0, kNoAgent, 0};
  if (pipe.cta == &cta) {
    barrier.gate.release(clock);
  } else {
    barrier.gate.release_from_afar(clock, true);
  }
  barrier.gate.note(pipe.agent, number);
  barrier.committed = barrier.phase + 1;
  --barrier.pending;
  complete_if_done(cta, barrier);
}

void barrier_init(std::uint32_t address, std::uint32_t arrivals) {
  Thread& thread = me();
  Cta& cta = *thread.cta;
  thread.cluster->checkpoint(thread);
  const std::uint32_t at = cta.offset(address, 8, "mbarrier.init");
  if (at % 8 != 0)
    throw FaultError(FaultKind::kMisaligned, fmt::format("mbarrier.init at {}", cta.describe(at)));
  if (arrivals == 0 || arrivals > kMaxArrivals) {
    throw FaultError(FaultKind::kIllegal, fmt::format("mbarrier.init with {} arrivals", arrivals));
  }
  if (cta.barrier_at[at / 8] != 0) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("mbarrier {} initialised twice", cta.describe(at)));
  }
  if (cta.barriers.size() == kMaxBarriers)
    throw FaultError(FaultKind::kIllegal, "more mbarriers than are modelled");
  const auto slot = static_cast<std::uint32_t>(cta.barriers.size());
  const Access access{thread.agent, thread.clock.now,
                      static_cast<std::uint16_t>(0xff << at % kGranule)};
  cta.shadow.write(access, thread.clock.view(), at / kGranule);
  cta.barriers.push_back(
      std::make_unique<Mbarrier>(Mbarrier{at,
                                          arrivals,
                                          arrivals,
                                          0,
                                          0,
                                          thread.cluster->barrier_agent(cta, slot),
                                          thread.agent,
                                          thread.clock.now,
                                          Gate(thread.cluster->clocks()),
                                          {}}));
  cta.barrier_at[at / 8] = static_cast<std::uint8_t>(slot + 1);
}

void barrier_init_fence() {
  Thread& thread = me();
  thread.cluster->history().init_fences[thread.agent].add(thread.clock.now++);
}

void barrier_arrive(std::uint32_t address) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  Cta& cta = *thread.cta;
  Mbarrier& barrier = cta.barrier(address, "arrival");
  check_made(cta, barrier, thread, "arrival");
  arrive(cta, barrier, thread);
}

void barrier_arrive_cluster(std::uint32_t address, bool release) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  Cta& cta = mapped_cta(thread, address, "arrival");
  Mbarrier& barrier = cta.barrier(unmapped(address), "arrival");
  check_made(cta, barrier, thread, "arrival");
  if (&cta != thread.cta) require_fenced(cta, barrier, thread, "arrival from another CTA");
  arrive(cta, barrier, thread, release);
}

void barrier_arrive_expect(std::uint32_t address, std::uint32_t bytes) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  Cta& cta = *thread.cta;
  Mbarrier& barrier = cta.barrier(address, "arrival");
  check_made(cta, barrier, thread, "arrival");
  barrier.bytes += bytes;
  if (barrier.bytes > kMaxBytes) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("mbarrier {} expects {} bytes, at most {}",
                                 cta.describe(barrier.offset), barrier.bytes, kMaxBytes));
  }
  arrive(cta, barrier, thread);
}

void require_fenced(const Cta& cta, const Mbarrier& barrier, const Thread& thread,
                    const char* action) {
  check_made(cta, barrier, thread, action);
  const History& history = thread.cluster->history();
  const Clock known = thread.clock.view()[barrier.maker];
  if (history.init_fences[barrier.maker].covers(barrier.made, known) ||
      history.proxy_fences[barrier.maker].covers(barrier.made, known)) {
    return;
  }
  throw FaultError(FaultKind::kProxy,
                   fmt::format("{} on mbarrier {}, initialised without barrier_init_fence", action,
                               cta.describe(barrier.offset)));
}

bool barrier_test(std::uint32_t address, std::uint32_t parity) {
  Thread& thread = me();
  Cta& cta = *thread.cta;
  thread.cluster->checkpoint(thread);
  Mbarrier& barrier = cta.barrier(address, "test");
  check_made(cta, barrier, thread, "test");
  if ((barrier.phase & 1) == (parity & 1)) return false;
  barrier.gate.acquire(thread.clock);
  return true;
}

bool barrier_try_wait(std::uint32_t address, std::uint32_t parity) {
  return try_wait(address, parity, false);
}

bool barrier_try_wait_cluster(std::uint32_t address, std::uint32_t parity) {
  return try_wait(address, parity, true);
}

}  // namespace wgrad::emu
