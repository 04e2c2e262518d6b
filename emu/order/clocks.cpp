#include "emu/order/clocks.hpp"

#include <algorithm>

namespace wgrad::emu {
namespace {

/// to[i] becomes the later of both.
[[gnu::always_inline]] inline void raise_each(Clock* to, const Clock* by, Agent count) {
  for (Agent i = 0; i < count; ++i) to[i] = std::max(to[i], by[i]);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void raise_avx2(Clock* to, const Clock* by, Agent count) {
  raise_each(to, by, count);
}
#endif

void raise(Clock* to, const Clock* by, Agent count) {
#if defined(__x86_64__)
  static const bool kAvx2 = __builtin_cpu_supports("avx2") != 0;
  if (kAvx2) return raise_avx2(to, by, count);
#endif
  raise_each(to, by, count);
}

}  // namespace

SnapshotRef::~SnapshotRef() {
  if (snapshot_ != nullptr && --snapshot_->references == 0) snapshot_->pool->recycle(snapshot_);
}

Snapshot* ClockPool::take() {
  if (free_.empty()) {
    auto& fresh = all_.emplace_back(std::make_unique<Snapshot>());
    fresh->pool = this;
    fresh->values = std::make_unique<Clock[]>(agents_.count);
    return fresh.get();
  }
  Snapshot* snapshot = free_.back();
  free_.pop_back();
  return snapshot;
}

SnapshotRef ClockPool::copy(const Clock* values) {
  Snapshot* snapshot = take();
  std::copy_n(values, agents_.count, snapshot->values.get());
  return SnapshotRef(snapshot);
}

SnapshotRef ClockPool::joined(const SnapshotRef& x, const SnapshotRef& y) {
  Snapshot* snapshot = take();
  std::copy_n(x.values(), agents_.count, snapshot->values.get());
  raise(snapshot->values.get(), y.values(), agents_.count);
  return SnapshotRef(snapshot);
}

SnapshotRef ClockPool::with(const SnapshotRef& x, Agent agent, Clock clock) {
  Snapshot* snapshot = take();
  std::copy_n(x.values(), agents_.count, snapshot->values.get());
  snapshot->values[agent] = std::max(snapshot->values[agent], clock);
  return SnapshotRef(snapshot);
}

void Gate::gather(const ThreadClock& clock, Agent count) {
  raise(gathered_.data(), clock.known.values(), count);
}

void Gate::step(ThreadClock& clock) {
  gathered_[clock.self] = std::max(gathered_[clock.self], clock.now);
  if (clock.warp != kNoAgent) {
    gathered_[clock.warp] = std::max(gathered_[clock.warp], clock.warp_done);
  }
  ++clock.now;  // what the thread does next is not covered by this release
}

void Gate::release(ThreadClock& clock) {
  if (!(clock.known == last_released_)) {
    gather(clock, pool_->agents().count);
    last_released_ = clock.known;
  }
  step(clock);
}

// A release at the cluster's scope covers what the CTA's own threads did, as far as it is known.
void Gate::lift(const ThreadClock& clock, Clock* known_widely) {
  const Agents& agents = pool_->agents();
  const Agent own = agents.first_of_cta(clock.self);
  if (!(clock.known == last_lifted_) || own != lifted_cta_) {
    const Clock* known = clock.known.values();
    for (Agent i = 0; i < agents.threads(); ++i) {
      const bool here = i >= own && i < own + agents.threads_per_cta;
      known_widely[i] =
          std::max({known_widely[i], known[agents.widely + i], here ? known[i] : Clock{0}});
    }
    last_lifted_ = clock.known;
    lifted_cta_ = own;
  }
  known_widely[clock.self] = std::max(known_widely[clock.self], clock.now);
}

void Gate::release_from_afar(ThreadClock& clock, bool widely) {
  const Agents& agents = pool_->agents();
  if (!(clock.known == last_from_afar_)) {
    gather(clock, agents.widely);
    last_from_afar_ = clock.known;
  }
  if (widely) {
    from_afar_.resize(agents.threads(), 0);
    lift(clock, from_afar_.data());
  }
  step(clock);
}

void Gate::release_widely(ThreadClock& clock) {
  if (pool_->agents().scoped()) lift(clock, &gathered_[pool_->agents().widely]);
  release(clock);
}

void Gate::publish() {
  published_ = pool_->copy(gathered_.data());
  published_widely_ = published_;
  memo_ = memo_widely_ = {};
  if (from_afar_.empty()) return;
  std::vector<Clock> all = gathered_;
  Clock* known_widely = &all[pool_->agents().widely];
  for (std::size_t i = 0; i < from_afar_.size(); ++i) {
    known_widely[i] = std::max(known_widely[i], from_afar_[i]);
  }
  published_widely_ = pool_->copy(all.data());
}

void Gate::acquire(ThreadClock& clock, const SnapshotRef& published, Memo& memo) {
  if (!published) return;
  if (!(clock.known == memo.from)) memo = {clock.known, pool_->joined(clock.known, published)};
  clock.known = memo.to;
}

void Gate::acquire(ThreadClock& clock) {
  acquire(clock, published_, memo_);
}

void Gate::acquire_widely(ThreadClock& clock) {
  acquire(clock, published_widely_, memo_widely_);
}

Clock FenceLog::first(Clock clock) const {
  const auto fence = std::lower_bound(clocks_.begin(), clocks_.end(), clock);
  return fence == clocks_.end() ? kNever : *fence;
}

bool FenceLog::covers(Clock clock, Clock known) const {
  const Clock fence = first(clock);
  return fence != kNever && fence <= known;
}

}  // namespace wgrad::emu
