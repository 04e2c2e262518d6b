// Vector clocks: who knows of which event. Threads of a warpgroup nearly always know the same, so a
// thread holds a shared immutable snapshot plus its own two entries, and a join is computed once
// for all who hold the same snapshot.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace wgrad::emu {

using Clock = std::uint32_t;
using Agent =
    std::uint32_t;  // a thread, a barrier's phases, a warp's wgmma groups, a thread's bulk groups
inline constexpr Agent kNoAgent = ~Agent{0};

class ClockPool;

struct Snapshot {
  ClockPool* pool = nullptr;
  std::uint32_t references = 0;
  std::unique_ptr<Clock[]> values;
};

/// Counted reference to a snapshot; one host thread only.
class SnapshotRef {
 public:
  SnapshotRef() = default;
  explicit SnapshotRef(Snapshot* snapshot) : snapshot_(snapshot) { ++snapshot->references; }
  SnapshotRef(const SnapshotRef& other) : snapshot_(other.snapshot_) {
    if (snapshot_ != nullptr) ++snapshot_->references;
  }
  SnapshotRef(SnapshotRef&& other) noexcept : snapshot_(std::exchange(other.snapshot_, nullptr)) {}
  SnapshotRef& operator=(SnapshotRef other) noexcept {
    std::swap(snapshot_, other.snapshot_);
    return *this;
  }
  ~SnapshotRef();

  const Clock* values() const { return snapshot_->values.get(); }
  explicit operator bool() const { return snapshot_ != nullptr; }
  bool operator==(const SnapshotRef& other) const { return snapshot_ == other.snapshot_; }

 private:
  Snapshot* snapshot_ = nullptr;
};

class ClockPool {
 public:
  explicit ClockPool(std::uint32_t agents) : agents_(agents) {}

  std::uint32_t agents() const { return agents_; }
  SnapshotRef zero() { return copy(std::vector<Clock>(agents_, 0).data()); }
  SnapshotRef copy(const Clock* values);
  SnapshotRef joined(const SnapshotRef& x, const SnapshotRef& y);
  SnapshotRef with(const SnapshotRef& x, Agent agent, Clock clock);
  void recycle(Snapshot* snapshot) { free_.push_back(snapshot); }

 private:
  Snapshot* take();

  std::uint32_t agents_;
  std::vector<std::unique_ptr<Snapshot>> all_;
  std::vector<Snapshot*> free_;
};

/// What somebody knows, for look-ups.
struct ClockView {
  const Clock* known = nullptr;
  Agent self = kNoAgent;
  Clock now = 0;
  Agent warp = kNoAgent;
  Clock warp_done = 0;

  Clock operator[](Agent agent) const {
    if (agent == self) return now;
    const Clock clock = known[agent];
    return agent == warp && warp_done > clock ? warp_done : clock;
  }
};

/// What a thread knows.
struct ThreadClock {
  SnapshotRef known;
  Agent self = kNoAgent;
  Clock now = 1;
  Agent warp = kNoAgent;  // its warp's wgmma groups
  Clock warp_done = 0;

  ClockView view() const { return {known.values(), self, now, warp, warp_done}; }
};

/// A meeting point: what those who released knew, handed on to those who acquire after publish().
class Gate {
 public:
  explicit Gate(ClockPool& pool) : pool_(&pool), gathered_(pool.agents(), 0) {}

  void release(ThreadClock& clock);
  void set(Agent agent, Clock clock) { gathered_[agent] = clock; }
  void publish();
  void acquire(ThreadClock& clock);

 private:
  ClockPool* pool_;
  std::vector<Clock> gathered_;
  SnapshotRef last_released_;
  SnapshotRef published_;
  SnapshotRef memo_from_;
  SnapshotRef memo_to_;
};

/// The clocks at which a thread fenced: its accesses up to one are visible to whoever knows of it.
class FenceLog {
 public:
  void add(Clock clock) { clocks_.push_back(clock); }
  /// Was an access at `clock` followed by a fence no later than `known`?
  bool covers(Clock clock, Clock known) const;

 private:
  std::vector<Clock> clocks_;
};

}  // namespace wgrad::emu
