#include "emu/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace wgrad::emu {
namespace {

thread_local Thread* running = nullptr;

std::uint32_t warps_of(const Launch& launch) {
  return launch.threads / kWarpThreads;
}

Agents agents_of(const Launch& launch) {
  const Agent threads = launch.cluster_size * launch.threads;
  const Agent others = launch.cluster_size *
                       (kMaxBarriers + warps_of(launch) + 2 * kMaxBulkThreads + kMaxTensorPipes);
  if (launch.cluster_size == 1) return {threads + others, launch.threads, kNoAgent};
  return {2 * threads + others, launch.threads, threads + others};
}

std::string place(const Thread& thread) {
  return fmt::format("CTA {} warp {} lane {}", thread.cta->block, thread.warp(), thread.lane());
}

}  // namespace

Thread& me() {
  return *running;
}
void set_me(Thread* thread) {
  running = thread;
}

Cta::Cta(Cluster& owner, std::uint32_t rank_in_cluster, std::uint32_t index)
    : cluster(&owner),
      rank(rank_in_cluster),
      block(index),
      base(1024),
      bytes(owner.launch().shared_bytes, 0xff),
      shadow(owner.history(), rank_in_cluster,
             (owner.launch().shared_bytes + kGranule - 1) / kGranule * kGranule),
      barrier_at(owner.launch().shared_bytes / 8 + 1, 0),
      warps(warps_of(owner.launch())),
      warpgroups(owner.launch().threads / kWarpgroupThreads),
      live(owner.launch().threads),
      tensor(index) {
  for (Warp& warp : warps) warp.registers = owner.launch().registers;
  for (std::size_t i = 0; i < warpgroups.size(); ++i) {
    warpgroups[i].cta = this;
    warpgroups[i].first_thread = static_cast<std::uint32_t>(i) * kWarpgroupThreads;
  }
  free_registers =
      std::int64_t{kRegisterFile} - std::int64_t{owner.launch().registers} * owner.launch().threads;
}

std::uint32_t Cta::offset(std::uint32_t address, std::uint32_t size, const char* action) const {
  if (address != unmapped(address)) {
    throw FaultError(
        FaultKind::kOutOfBounds,
        fmt::format("{} at {:#x}, an address from map_to_rank, of the CTA's own memory", action,
                    address));
  }
  if (address < base || address - base + size > bytes.size()) {
    throw FaultError(
        FaultKind::kOutOfBounds,
        fmt::format("{} of {} bytes at shared address {:#x}; this CTA has {} from {:#x}", action,
                    size, address, bytes.size(), base));
  }
  return address - base;
}

std::string Cta::describe(std::uint32_t at) const {
  for (const SharedRegion& r : cluster->launch().regions) {
    if (at < r.offset || at >= r.offset + r.element_bytes * r.elements) continue;
    const std::uint32_t element = (at - r.offset) / r.element_bytes;
    return fmt::format("CTA {} {}[{}] + {:#x}", block, r.name, element,
                       (at - r.offset) % r.element_bytes);
  }
  return fmt::format("CTA {} shared memory + {:#x}", block, at);
}

Cluster::Cluster(Grid& grid, GlobalMemory& memory, StackPool& stacks, const Adversary& adversary,
                 std::uint32_t index, Outcome& outcome)
    : grid_(&grid),
      launch_(grid.launch),
      memory_(&memory),
      outcome_(&outcome),
      index_(index),
      random_(adversary.seed * 0x100000001b3 + index),
      timing_(adversary.timing),
      clocks_(agents_of(*grid.launch)) {
  const Launch& launch = *launch_;
  constexpr std::uint32_t kPreemptions[] = {20, 200, 2000, 20000};
  preempt_every_ = kPreemptions[random_.below(4)];
  rearm_preemption();
  eager_weight_ = random_.below(4);
  lazy_weight_ = 1 + random_.below(4);
  if (random_.below(4) == 0)
    starved_ = random_.below(launch.cluster_size * warps_of(launch)) * kWarpThreads;
  history_.agents = clocks_.agents();
  history_.first_cta = index * launch.cluster_size;
  const std::size_t threads = std::size_t{launch.cluster_size} * launch.threads;
  history_.proxy_fences.resize(threads);
  history_.init_fences.resize(threads);
  for (auto* log : {&tensor_.history.load_waits, &tensor_.history.store_waits,
                    &tensor_.history.before_fences}) {
    log->resize(threads);
  }
  barrier_.gate = std::make_unique<Gate>(clocks_);
  const SnapshotRef nothing = clocks_.zero();
  for (std::uint32_t rank = 0; rank < launch.cluster_size; ++rank) {
    Cta& cta =
        *ctas_.emplace_back(std::make_unique<Cta>(*this, rank, index * launch.cluster_size + rank));
    cta.base = 1024 * (1 + random_.below(8));
    for (std::uint32_t i = 0; i < launch.threads; ++i) {
      Thread& thread = *threads_.emplace_back(std::make_unique<Thread>());
      thread.cluster = this;
      thread.cta = &cta;
      thread.index = i;
      thread.agent = rank * launch.threads + i;
      thread.clock = {nothing, thread.agent, 1, warp_agent(cta, i / kWarpThreads), 0};
      thread.fenced = nothing;
      thread.fiber.start(stacks, [this, &thread] { body(thread); });
      ready_.push_back(&thread);
    }
  }
  live_ = launch.cluster_size * launch.threads;
}

Cluster::~Cluster() {
  for (auto& thread : threads_) {
    set_me(thread.get());
    thread->fiber.cancel();
  }
  set_me(nullptr);
}

Agent Cluster::barrier_agent(const Cta& cta, std::uint32_t slot) const {
  return launch_->cluster_size * launch_->threads + cta.rank * kMaxBarriers + slot;
}
Agent Cluster::warp_agent(const Cta& cta, std::uint32_t warp) const {
  return launch_->cluster_size * (launch_->threads + kMaxBarriers) + cta.rank * warps_of(*launch_) +
         warp;
}
Agent Cluster::bulk_agent(const Cta& cta, std::uint32_t slot) const {
  return launch_->cluster_size * (launch_->threads + kMaxBarriers + warps_of(*launch_)) +
         2 * (cta.rank * kMaxBulkThreads + slot);
}

Agent Cluster::pipe_agent(const Cta& cta, std::uint32_t slot) const {
  return launch_->cluster_size *
             (launch_->threads + kMaxBarriers + warps_of(*launch_) + 2 * kMaxBulkThreads) +
         cta.rank * kMaxTensorPipes + slot;
}

void Cluster::body(Thread& thread) {
  try {
    launch_->kernel();
    leave(thread);
    ++stats().threads;
  } catch (const ShadowError& error) {
    if (!fault) {
      fault = Fault{error.kind(),
                    thread.cta->describe(error.granule() * kGranule) + ": " + error.what(),
                    place(thread)};
    }
  } catch (const FaultError& error) {
    if (!fault) fault = Fault{error.kind(), error.what(), place(thread)};
  }
  thread.exited = true;
  --thread.cta->live;
  --live_;
}

void Cluster::block(Thread& thread, Wait wait) {
  thread.wait = wait;
  thread.fiber.pause();
}

void Cluster::wake(Thread& thread) {
  thread.wait = {};
  thread.time = std::max(thread.time, now_ + TimeModel::kWake);
  make_ready(thread);
}

void Cluster::wake_all(std::vector<Thread*>& threads) {
  for (Thread* thread : threads) wake(*thread);
  threads.clear();
}

void Cluster::rearm_preemption() {
  until_preemption_ = 1 + random_.below(2 * preempt_every_);
}

void Cluster::preempt(Thread& thread) {
  rearm_preemption();
  ready_.push_back(&thread);
  thread.fiber.pause();
}

void Cluster::schedule(EventKind kind, std::uint32_t index) {
  Event event{kind, step_, index};
  if (timed()) {
    event.due = due(event);
    events_.push_back(event);
    return;
  }
  const std::uint32_t dice = random_.below(8);
  if (timing_ == Timing::kLazy || (timing_ == Timing::kMixed && dice < lazy_weight_)) {
    event.due = kNever;
  } else if (timing_ == Timing::kMixed && dice >= lazy_weight_ + eager_weight_) {
    event.due = step_ + random_.below(3 * static_cast<std::uint32_t>(threads_.size()));
  }
  next_due_ = std::min(next_due_, event.due);
  events_.push_back(event);
}

std::uint32_t Cluster::add_load(LoadOp op) {
  if (free_loads_.empty()) {
    loads_.emplace_back();
    free_loads_.push_back(static_cast<std::uint32_t>(loads_.size() - 1));
  }
  const std::uint32_t slot = free_loads_.back();
  free_loads_.pop_back();
  loads_[slot] = op;
  return slot;
}

std::uint32_t Cluster::add_store(StoreOp op) {
  if (free_stores_.empty()) {
    stores_.emplace_back();
    free_stores_.push_back(static_cast<std::uint32_t>(stores_.size() - 1));
  }
  const std::uint32_t slot = free_stores_.back();
  free_stores_.pop_back();
  stores_[slot] = std::move(op);
  return slot;
}

bool Cluster::happen(std::size_t position) {
  Event event = events_[position];
  events_[position] = events_.back();
  events_.pop_back();
  try {
    switch (event.kind) {
      case EventKind::kLoad:
        if (!land(*this, event.index)) {
          schedule(EventKind::kLoad, event.index);
        } else {
          free_loads_.push_back(event.index);
        }
        break;
      case EventKind::kStoreRead:
        read_source(*this, event.index);
        schedule(EventKind::kStoreWrite, event.index);
        break;
      case EventKind::kStoreWrite:
        write_target(*this, event.index);
        free_stores_.push_back(event.index);
        break;
      case EventKind::kWgmma: {
        const std::uint32_t per_cta = static_cast<std::uint32_t>(ctas_[0]->warpgroups.size());
        execute_wgmma(ctas_[event.index / per_cta]->warpgroups[event.index % per_cta]);
        break;
      }
      case EventKind::kTensor:
        execute_tensor(*this, tensor_.pipes[event.index]);
        break;
    }
  } catch (const FaultError& error) {
    if (!fault) fault = Fault{error.kind(), error.what(), "an asynchronous operation"};
    return false;
  }
  return true;
}

bool Cluster::happen_due() {
  std::uint64_t next = kNever;
  for (std::size_t i = 0; i < events_.size();) {
    if (events_[i].due <= step_) {
      if (!happen(i)) return false;
      i = 0;
      next = kNever;
      continue;
    }
    next = std::min(next, events_[i].due);
    ++i;
  }
  next_due_ = next;
  return true;
}

Thread* Cluster::pick() {
  if (step_ % 4096 == 0) {  // now and then other warps fall behind
    slow_warps_ = static_cast<std::uint32_t>(random_.next() & random_.next());
  }
  std::size_t at = 0;
  for (int attempt = 0; attempt < (starved_ == kNoAgent ? 4 : 12); ++attempt) {
    at = random_.below(static_cast<std::uint32_t>(ready_.size()));
    const Thread& candidate = *ready_[at];
    if (starved(candidate)) continue;
    if (attempt >= 4) break;
    const std::uint32_t warp = (candidate.warp() + 7 * candidate.cta->rank) % 32;
    if ((slow_warps_ >> warp & 1) == 0) break;
  }
  Thread* thread = ready_[at];
  ready_[at] = ready_.back();
  ready_.pop_back();
  return thread;
}

void Cluster::run_thread(Thread& thread) {
  ++stats().switches;
  running = &thread;
  thread.fiber.resume();
  running = nullptr;
}

bool Cluster::advance(std::uint64_t quantum) {
  for (std::uint64_t i = 0; i < quantum && !fault; ++i) {
    ++step_;
    if (timed()) {
      if (!step_in_time()) return false;
      continue;
    }
    if (next_due_ <= step_ && !happen_due()) return true;
    const bool starve = ready_.size() == 1 && starved(*ready_[0]) && !events_.empty();
    if (!ready_.empty() && !starve) {
      run_thread(*pick());
    } else if (!events_.empty()) {
      happen(random_.below(static_cast<std::uint32_t>(events_.size())));
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace wgrad::emu
