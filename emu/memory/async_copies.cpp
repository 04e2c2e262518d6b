// cp.async: a thread's copies of 16 bytes in the background, in groups that it waits for. PTX ISA,
// "Data Movement and Conversion: cp.async". Each lands at once or when it is waited for; its bytes
// belong to nobody in between.
#include <fmt/format.h>

#include <cstring>

#include "emu/cluster.hpp"
#include "wgrad/arch/emu/instructions.hpp"

namespace wgrad::emu {
namespace {

constexpr std::uint32_t kBytes = 16;

std::uint32_t checked_target(const Cta& cta, std::uint32_t address) {
  const std::uint32_t at = cta.offset(address, kBytes, "cp.async");
  if (at % kBytes != 0)
    throw FaultError(FaultKind::kMisaligned, fmt::format("cp.async to {}", cta.describe(at)));
  if (cta.barrier_at[at / 8] != 0 || cta.barrier_at[at / 8 + 1] != 0)
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("cp.async over the mbarrier {}", cta.describe(at)));
  return at;
}

const std::uint8_t* checked_source(Thread& thread, std::uint64_t address, std::uint32_t bytes) {
  if (address % kBytes != 0)
    throw FaultError(FaultKind::kMisaligned, fmt::format("cp.async from {:#x}", address));
  if (bytes > kBytes)
    throw FaultError(FaultKind::kIllegal, fmt::format("cp.async of {} bytes", bytes));
  if (bytes == 0) return nullptr;
  return thread.cluster->memory().span(address, bytes, false, "cp.async").bytes;
}

void land(Cta& cta, const ThreadCopy& copy) {
  std::memset(&cta.bytes[copy.target], 0, kBytes);
  if (copy.bytes > 0) std::memcpy(&cta.bytes[copy.target], copy.source, copy.bytes);
}

CopyGroup& open_group(Thread& thread) {
  if (thread.copy_groups.empty()) thread.copy_groups.emplace_back();
  CopyGroup& open = thread.copy_groups.back();
  if (!open.record) {
    auto& ops = thread.cluster->history().ops;
    open.record = static_cast<std::uint32_t>(ops.size());
    ops.push_back(
        {OpKind::kCopy, 1, thread.agent, 0, thread.agent, thread.cta->block, thread.index});
  }
  return open;
}

}  // namespace

void copy_async(std::uint32_t target, std::uint64_t source, std::uint32_t bytes) {
  Thread& thread = me();
  Cluster& cluster = *thread.cluster;
  cluster.checkpoint(thread);
  check_dependency(thread);
  const ThreadCopy copy{checked_target(*thread.cta, target), checked_source(thread, source, bytes),
                        bytes};
  CopyGroup& group = open_group(thread);
  thread.cta->shadow.write({*group.record | kAsync, 0, 0xffff}, thread.clock.view(),
                           copy.target / kGranule);
  if (cluster.random().below(2) == 0) {
    land(*thread.cta, copy);
  } else {
    group.late.push_back(copy);
  }
}

void commit_copies() {
  Thread& thread = me();
  if (thread.copy_groups.empty()) thread.copy_groups.emplace_back();
  thread.copy_groups.emplace_back();
}

void wait_copies(std::uint32_t pending) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread, Cost::kGlobalLoad);
  while (thread.copy_groups.size() > pending + std::size_t{1}) {
    CopyGroup& group = thread.copy_groups.front();
    for (const ThreadCopy& copy : group.late) land(*thread.cta, copy);
    if (group.record) thread.cluster->history().ops[*group.record].clock = thread.clock.now;
    thread.copy_groups.pop_front();
  }
}

}  // namespace wgrad::emu
