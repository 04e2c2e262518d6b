#include "emu/order/global_scope.hpp"

#include <algorithm>

#include "emu/cluster.hpp"

namespace wgrad::emu {
namespace {

/// Of the cluster's threads; of those of other CTAs, what is known at the cluster's scope.
std::vector<Clock> clocks_of(const Thread& thread) {
  const Agents& agents = thread.cluster->clocks().agents();
  const ClockView view = thread.clock.view();
  std::vector<Clock> clocks(agents.threads_per_cta * thread.cluster->size());
  for (Agent i = 0; i < clocks.size(); ++i) {
    const bool near = i / agents.threads_per_cta == thread.cta->rank;
    clocks[i] = view[near || !agents.scoped() ? i : agents.widely + i];
  }
  return clocks;
}

}  // namespace

void GlobalKnowledge::join(std::uint32_t cluster, const std::vector<Clock>& clocks) {
  std::vector<Clock>& mine = of_[cluster];
  mine.resize(std::max(mine.size(), clocks.size()), 0);
  for (std::size_t i = 0; i < clocks.size(); ++i) mine[i] = std::max(mine[i], clocks[i]);
}

void GlobalKnowledge::join(const GlobalKnowledge& other) {
  for (const auto& [cluster, clocks] : other.of_) join(cluster, clocks);
}

bool GlobalKnowledge::knows(std::uint32_t cluster, Agent agent, Clock clock) const {
  const auto found = of_.find(cluster);
  return found != of_.end() && agent < found->second.size() && found->second[agent] >= clock;
}

void release_globally(Thread& thread, std::uint64_t address) {
  Cluster& cluster = *thread.cluster;
  GlobalKnowledge& left = cluster.memory().released(address);
  left.join(cluster.index(), clocks_of(thread));
  const ClockView view = thread.clock.view();
  for (const GlobalAcquire& taken : cluster.global_acquires()) {
    if (cluster.history().seen(taken.who, taken.clock, thread.cta->rank, view))
      left.join(taken.knowledge);
  }
  ++thread.clock.now;  // what the thread does next is not covered by this release
}

void acquire_globally(Thread& thread, std::uint64_t address) {
  Cluster& cluster = *thread.cluster;
  const GlobalKnowledge& left = cluster.memory().released(address);
  if (left.empty()) return;
  cluster.global_acquires().push_back({thread.agent, thread.clock.now++, left});
}

}  // namespace wgrad::emu
