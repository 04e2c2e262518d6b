// How long a CTA's shared memory lives: reaching into another CTA, and leaving. As for data, what
// counts is the order that the program gives, not who happens to be quicker.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "emu/cluster.hpp"

namespace wgrad::emu {
namespace {

void refuse(bool bad, const std::string& what) {
  if (bad) throw FaultError(FaultKind::kIllegal, "exit with " + what);
}

void refuse_exited(const Cta& cta, const char* action) {
  if (cta.live != 0) return;
  throw FaultError(
      FaultKind::kIllegal,
      fmt::format("{} in the shared memory of CTA {}, which has exited", action, cta.block));
}

void require_begun(Thread& thread, const Cta& cta, const char* action) {
  if ((thread.knows_begun >> cta.rank & 1) != 0) return;
  const ClockView view = thread.clock.view();
  const std::uint32_t threads = thread.cluster->launch().threads;
  for (Agent i = cta.rank * threads; i < (cta.rank + 1) * threads; ++i) {
    if (view[i] == 0) continue;
    thread.knows_begun |= 1u << cta.rank;
    return;
  }
  throw FaultError(FaultKind::kIllegal,
                   fmt::format("{} in the shared memory of CTA {}, which need not have begun",
                               action, cta.block));
}

std::string name_of(const Cluster& cluster, Agent thread) {
  const std::uint32_t threads = cluster.launch().threads;
  return fmt::format("CTA {} warp {} lane {}", cluster.index() * cluster.size() + thread / threads,
                     thread % threads / kWarpThreads, thread % kWarpThreads);
}

// Bulk stores whose reads this thread, who alone can, did not wait for.
void check_bulk_stores(const Thread& thread) {
  if (thread.bulk_agent == kNoAgent) return;
  const Clock waited = thread.clock.view()[thread.bulk_agent];
  for (std::size_t i = 0; i < thread.bulk_groups.size(); ++i) {
    refuse(thread.bulk_groups[i].used && thread.bulk_first + i > waited,
           "bulk stores that may still read this CTA's shared memory");
  }
}

void note_exit(Cta& cta, const ThreadClock& clock) {
  Exits& exits = cta.exits;
  if (!(clock.known == exits.last)) {
    const Agent count = cta.cluster->clocks().agents().count;
    exits.known.resize(count, 0);
    const Clock* known = clock.known.values();
    for (Agent i = 0; i < count; ++i) exits.known[i] = std::max(exits.known[i], known[i]);
    exits.last = clock.known;
  }
}

// Its last thread leaves: nobody may touch the CTA's memory any more.
void check_last_exit(const Cta& cta) {
  refuse(cta.loads_in_flight != 0, "copies in flight into this CTA's shared memory");
  refuse(cta.reads_in_flight != 0, "bulk stores that still read this CTA's shared memory");
  for (const Warp& warp : cta.warps)
    refuse(!warp.stores.empty(), "a stmatrix that not every lane executed");
  for (const auto& barrier : cta.barriers) {
    refuse(cta.exits.known[barrier->agent] < barrier->loaded,
           fmt::format("a copy that nobody waited for, of mbarrier {} phase {}",
                       cta.describe(barrier->offset), barrier->loaded - 1));
    refuse(cta.exits.known[barrier->agent] < barrier->committed,
           fmt::format("a tcgen05_commit that nobody waited for, to mbarrier {} phase {}",
                       cta.describe(barrier->offset), barrier->committed - 1));
  }
  for (const auto& [agent, clock] : cta.exits.awaited) {
    refuse(
        cta.exits.known[agent] < clock,
        "copies or tcgen05 operations on this CTA's memory that nobody here knows to be complete");
  }
  refuse(!cta.tensor.allocations().empty(), "tensor memory that was not freed");
  for (const auto& [agent, clock] : cta.exits.touched_from_afar) {
    refuse(cta.exits.known[agent] < clock,
           fmt::format("nothing that orders it after what {} does here",
                       name_of(*cta.cluster, agent)));
  }
}

}  // namespace

void require_running(Thread& thread, const Cta& cta, const char* action) {
  if (&cta == thread.cta) return;
  refuse_exited(cta, action);
  require_begun(thread, cta, action);
}

Cta& mapped_cta(Thread& thread, std::uint32_t address, const char* action) {
  const std::uint32_t rank = address >> kRankShift;
  if (rank == 0 || rank == thread.cta->rank + 1) return *thread.cta;
  if (rank > thread.cluster->size()) {
    throw FaultError(FaultKind::kOutOfBounds,
                     fmt::format("shared::cluster address {:#x} of no CTA", address));
  }
  Cta& cta = thread.cluster->cta(rank - 1);
  refuse_exited(cta, action);
  require_begun(thread, cta, action);
  cta.exits.touched_from_afar[thread.agent] = thread.clock.now;
  return cta;
}

void leave(Thread& thread) {
  Cta& cta = *thread.cta;
  refuse(!thread.held.empty(), "wgmmas that were not waited for");
  refuse(!thread.tensor_loads.empty(), "loads of tensor memory that were not waited for");
  refuse(!thread.tensor_stores.empty(), "stores to tensor memory that were not waited for");
  check_bulk_stores(thread);
  note_exit(cta, thread.clock);
  if (cta.live == 1) {
    check_last_exit(cta);
    if (!std::exchange(cta.let_next_begin, true)) ++thread.cluster->grid().ready_ctas;
  }
  release_barriers_of(thread);
}

}  // namespace wgrad::emu
