// What clusters know of each other by releases and acquires at the GPU's scope: at an address of
// global memory the one leaves all that it knows, the other takes all that was left there before.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emu/order/clocks.hpp"

namespace wgrad::emu {

struct Thread;

/// By cluster, the clocks of its agents.
class GlobalKnowledge {
 public:
  void join(const GlobalKnowledge& other);
  void join(std::uint32_t cluster, const std::vector<Clock>& clocks);
  bool empty() const { return of_.empty(); }
  bool knows(std::uint32_t cluster, Agent agent, Clock clock) const;

 private:
  std::unordered_map<std::uint32_t, std::vector<Clock>> of_;
};

/// A thread of the cluster took it at a clock of its own: whoever knows of that knows it, too.
struct GlobalAcquire {
  Agent who = 0;
  Clock clock = 0;
  GlobalKnowledge knowledge;
};

/// At `address`.
void release_globally(Thread& thread, std::uint64_t address);
void acquire_globally(Thread& thread, std::uint64_t address);

}  // namespace wgrad::emu
