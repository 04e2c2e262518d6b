// Races in global memory, of the copy engine's accesses and of ordinary ones.
#include <fmt/format.h>

#include "emu/cluster.hpp"

namespace wgrad::emu {
namespace {

std::string op_name(std::uint64_t trace) {
  return fmt::format("operation #{} of cluster {}", trace & 0xffffffff, (trace >> 32) - 1);
}

}  // namespace

void check_touch(Cluster& cluster, const GlobalMemory::Trace& trace, const ClockView& view,
                 bool write, std::uint64_t address) {
  const auto check = [&](std::uint64_t earlier, bool wrote) {
    if (earlier == 0) return;
    const bool same = earlier >> 32 == cluster.index() + std::uint64_t{1};
    if (same) {
      const OpRecord& op = cluster.history().ops[earlier & 0xffffffff];
      const Agent agent = wrote ? op.written : op.agent;
      if (op.clock != 0 && view[agent] >= op.clock) return;
    }
    throw FaultError(FaultKind::kRace,
                     fmt::format("{} of {} which {} {}, and nothing orders the two",
                                 write ? "write" : "read", cluster.memory().describe(address),
                                 op_name(earlier), wrote ? "writes" : "reads"));
  };
  check(trace.writer, true);
  if (write) check(trace.reader, false);
}

void check_store_seen(Cluster& cluster, const GlobalMemory::Store& store, std::uint32_t rank,
                      const ClockView& view, std::uint64_t address, const char* action) {
  if (store.cluster == cluster.index() &&
      cluster.history().seen(store.agent, store.clock, rank, view)) {
    return;
  }
  for (const GlobalAcquire& taken : cluster.global_acquires()) {
    if (cluster.history().seen(taken.who, taken.clock, rank, view) &&
        taken.knowledge.knows(store.cluster, store.agent, store.clock)) {
      return;
    }
  }
  throw FaultError(
      FaultKind::kRace,
      fmt::format("{} of {} which CTA {} thread {} stores, too, and nothing orders the two", action,
                  cluster.memory().describe(address),
                  store.cluster * cluster.size() + store.agent / cluster.launch().threads,
                  store.agent % cluster.launch().threads));
}

}  // namespace wgrad::emu
