#include "emu/machine.hpp"

#include <fmt/format.h>

#include <memory>

#include "emu/cluster.hpp"

namespace wgrad::emu {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} * 1024;
constexpr std::uint32_t kMaxSharedBytes = 232448;

void check(const Launch& l) {
  const auto require = [](bool ok, const std::string& what) {
    if (!ok) throw FaultError(FaultKind::kIllegal, "launch: " + what);
  };
  require(l.cluster_size >= 1 && l.cluster_size <= 8,
          fmt::format("cluster of {} CTAs", l.cluster_size));
  require(l.ctas >= 1 && l.ctas % l.cluster_size == 0,
          fmt::format("{} CTAs are no multiple of the cluster's {}", l.ctas, l.cluster_size));
  require(l.threads >= 32 && l.threads % 32 == 0 && l.threads <= 1024,
          fmt::format("{} threads a CTA", l.threads));
  require(l.shared_bytes <= kMaxSharedBytes,
          fmt::format("{} bytes of shared memory, at most {}", l.shared_bytes, kMaxSharedBytes));
  require(l.registers * l.threads <= kRegisterFile,
          fmt::format("{} threads with {} registers each exceed {}", l.threads, l.registers,
                      kRegisterFile));
  require(l.resident_ctas >= l.cluster_size,
          fmt::format("{} SMs for a cluster of {}", l.resident_ctas, l.cluster_size));
}

}  // namespace

Outcome run(const Launch& launch, GlobalMemory& memory, const Adversary& adversary) {
  check(launch);
  memory.clear_traces();
  Outcome outcome;
  thread_local StackPool stacks(
      kStackBytes);  // kept for the next launch: mapping them costs more than a small one
  std::vector<std::unique_ptr<Cluster>> active;
  Random random(adversary.seed ^ 0x5eed);
  std::uint32_t next = 0;
  const std::uint32_t clusters = launch.ctas / launch.cluster_size;
  const std::uint32_t resident = launch.resident_ctas / launch.cluster_size;
  while (next < clusters || !active.empty()) {
    while (next < clusters && active.size() < resident) {
      active.push_back(
          std::make_unique<Cluster>(launch, memory, stacks, adversary, next++, outcome));
    }
    const std::uint32_t at = random.below(static_cast<std::uint32_t>(active.size()));
    Cluster& cluster = *active[at];
    const bool moved = cluster.advance(1u << random.below(14));
    if (cluster.fault) {
      outcome.fault = cluster.fault;
      return outcome;
    }
    if (cluster.finished()) {
      active.erase(active.begin() + at);
      continue;
    }
    // Nothing another cluster does can wake a thread: they share no barrier.
    if (!moved) {
      outcome.fault = cluster.deadlock();
      return outcome;
    }
    if (outcome.stats.switches > adversary.step_limit) {
      outcome.fault =
          Fault{FaultKind::kEndless,
                fmt::format("still running after {} switches", outcome.stats.switches), ""};
      return outcome;
    }
  }
  return outcome;
}

}  // namespace wgrad::emu
