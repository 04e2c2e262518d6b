// The deadlock report: who waits, for what, and what is missing.
#include <fmt/format.h>

#include <map>

#include "emu/cluster.hpp"

namespace wgrad::emu {
namespace {

const Cta& peer_of(const Cta& cta) {
  return cta.cluster->cta(cta.rank ^ 1);
}

std::string reason(const Thread& thread) {
  const Cta& cta = *thread.cta;
  switch (thread.wait.kind) {
    case WaitKind::kMbarrier: {
      const Mbarrier& b = *cta.barriers[cta.barrier_at[thread.wait.which / 8] - 1u];
      return fmt::format(
          "mbarrier {} parity {}: it is in phase {}, {} of {} arrivals and {} bytes missing",
          cta.describe(b.offset), thread.wait.parity, b.phase, b.pending, b.expected, b.bytes);
    }
    case WaitKind::kNamed: {
      const NamedBarrier& b = cta.named[thread.wait.which];
      return fmt::format("named barrier {}: {} of {} threads have come", thread.wait.which,
                         b.arrived, b.count == 0 ? cta.live : b.count);
    }
    case WaitKind::kCluster:
      return fmt::format("the cluster barrier: {} of {} threads have come",
                         thread.cluster->barrier().arrived, thread.cluster->live());
    case WaitKind::kWarp: {
      const Warp& warp = cta.warps[thread.warp()];
      return fmt::format("{}: {} of 32 lanes have come", warp.what, warp.arrived);
    }
    case WaitKind::kWgmma: {
      const Warpgroup& wg = cta.warpgroups[thread.index / kWarpgroupThreads];
      return fmt::format("wgmma #{} of its warpgroup: issued by {} of 128 threads", wg.executed,
                         wg.ops.empty() ? 0 : wg.ops.front().arrived);
    }
    case WaitKind::kBulk:
      return fmt::format("its bulk store groups up to {}", thread.wait.which);
    case WaitKind::kRegisters:
      return fmt::format("{} registers a thread: {} of the CTA's file are free", thread.wait.which,
                         cta.free_registers);
    case WaitKind::kGrid:
      return "the launch before it";
    case WaitKind::kTensorAllocation: {
      const TensorRequest& request = cta.tensor_allocator.allocate;
      if (thread.wait.which == 2 && !peer_of(cta).tensor_allocator.allocate.open)
        return fmt::format("tensor memory: CTA {} of its pair to allocate too", peer_of(cta).block);
      return fmt::format("tensor memory: {} columns, {} allocations held", request.columns.columns,
                         cta.tensor.allocations().size());
    }
    case WaitKind::kTensorFree:
      return fmt::format("tensor memory: CTA {} of its pair to free it too", peer_of(cta).block);
    case WaitKind::kMemory:
      return fmt::format("a number in global memory to be at least {}", thread.wait.which);
    case WaitKind::kNothing:
      break;
  }
  return "nothing";
}

}  // namespace

std::string Cluster::waiting() const {
  std::map<std::string, std::map<std::string, std::uint32_t>> waiting;  // reason, warp, threads
  for (const auto& thread : threads_) {
    if (thread->exited || thread->wait.kind == WaitKind::kNothing) continue;
    ++waiting[reason(*thread)][fmt::format("CTA {} warp {}", thread->cta->block, thread->warp())];
  }
  std::string text;
  for (const auto& [why, warps] : waiting) {
    text += "\n  for " + why + "\n    ";
    const char* separator = "";
    for (const auto& [warp, count] : warps) {
      text += fmt::format("{}{} ({} threads)", separator, warp, count);
      separator = ", ";
    }
  }
  return text;
}

Fault Cluster::deadlock() const {
  return {FaultKind::kDeadlock, "every thread waits" + waiting(), ""};
}

}  // namespace wgrad::emu
