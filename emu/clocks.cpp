#include "emu/clocks.hpp"

#include <algorithm>

namespace wgrad::emu {

SnapshotRef::~SnapshotRef() {
  if (snapshot_ != nullptr && --snapshot_->references == 0) snapshot_->pool->recycle(snapshot_);
}

Snapshot* ClockPool::take() {
  if (free_.empty()) {
    auto& fresh = all_.emplace_back(std::make_unique<Snapshot>());
    fresh->pool = this;
    fresh->values = std::make_unique<Clock[]>(agents_);
    return fresh.get();
  }
  Snapshot* snapshot = free_.back();
  free_.pop_back();
  return snapshot;
}

SnapshotRef ClockPool::copy(const Clock* values) {
  Snapshot* snapshot = take();
  std::copy_n(values, agents_, snapshot->values.get());
  return SnapshotRef(snapshot);
}

SnapshotRef ClockPool::joined(const SnapshotRef& x, const SnapshotRef& y) {
  Snapshot* snapshot = take();
  Clock* out = snapshot->values.get();
  const Clock* p = x.values();
  const Clock* q = y.values();
  for (std::uint32_t i = 0; i < agents_; ++i) out[i] = std::max(p[i], q[i]);
  return SnapshotRef(snapshot);
}

SnapshotRef ClockPool::with(const SnapshotRef& x, Agent agent, Clock clock) {
  Snapshot* snapshot = take();
  std::copy_n(x.values(), agents_, snapshot->values.get());
  snapshot->values[agent] = std::max(snapshot->values[agent], clock);
  return SnapshotRef(snapshot);
}

void Gate::release(ThreadClock& clock) {
  if (!(clock.known == last_released_)) {
    const Clock* known = clock.known.values();
    for (std::size_t i = 0; i < gathered_.size(); ++i) {
      gathered_[i] = std::max(gathered_[i], known[i]);
    }
    last_released_ = clock.known;
  }
  gathered_[clock.self] = std::max(gathered_[clock.self], clock.now);
  if (clock.warp != kNoAgent) {
    gathered_[clock.warp] = std::max(gathered_[clock.warp], clock.warp_done);
  }
  ++clock.now;  // what the thread does next is not covered by this release
}

void Gate::publish() {
  published_ = pool_->copy(gathered_.data());
  memo_from_ = SnapshotRef();
  memo_to_ = SnapshotRef();
}

void Gate::acquire(ThreadClock& clock) {
  if (!published_) return;
  if (!(clock.known == memo_from_)) {
    memo_from_ = clock.known;
    memo_to_ = pool_->joined(clock.known, published_);
  }
  clock.known = memo_to_;
}

bool FenceLog::covers(Clock clock, Clock known) const {
  const auto fence = std::lower_bound(clocks_.begin(), clocks_.end(), clock);
  return fence != clocks_.end() && *fence <= known;
}

}  // namespace wgrad::emu
