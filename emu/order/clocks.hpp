// Vector clocks: who knows of which event. Threads of a warpgroup nearly always know the same, so a
// thread holds a shared immutable snapshot plus its own two entries, and a join is computed once
// for all who hold the same snapshot.
#pragma once

#include <algorithm>
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

/// The agents of a cluster. Threads come first, CTA by CTA. In a cluster of several CTAs each has a
/// second entry: what of it is known at the cluster's scope, and so orders accesses by threads of
/// different CTAs.
struct Agents {
  Agent count = 0;
  Agent threads_per_cta = 0;
  Agent widely = kNoAgent;  // second entry of thread 0; kNoAgent in a cluster of one

  bool scoped() const { return widely != kNoAgent; }
  Agent threads() const { return count - widely; }
  Agent first_of_cta(Agent thread) const { return thread / threads_per_cta * threads_per_cta; }
};

class ClockPool {
 public:
  explicit ClockPool(const Agents& agents) : agents_(agents) {}

  const Agents& agents() const { return agents_; }
  SnapshotRef zero() { return copy(std::vector<Clock>(agents_.count, 0).data()); }
  SnapshotRef copy(const Clock* values);
  SnapshotRef joined(const SnapshotRef& x, const SnapshotRef& y);
  SnapshotRef with(const SnapshotRef& x, Agent agent, Clock clock);
  void recycle(Snapshot* snapshot) { free_.push_back(snapshot); }

 private:
  Snapshot* take();

  Agents agents_;
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
/// At CTA scope another CTA's release says nothing of what its threads did, but which asynchronous
/// operations are complete.
class Gate {
 public:
  explicit Gate(ClockPool& pool) : pool_(&pool), gathered_(pool.agents().count, 0) {}

  /// By a thread of the CTA.
  void release(ThreadClock& clock);
  /// By a thread of another CTA, for acquire_widely(); without `widely`, at CTA scope.
  void release_from_afar(ThreadClock& clock, bool widely);
  /// At the cluster's scope, where all acquire so (the cluster barrier).
  void release_widely(ThreadClock& clock);
  void note(Agent agent, Clock clock) { gathered_[agent] = std::max(gathered_[agent], clock); }
  void publish();
  void acquire(ThreadClock& clock);
  void acquire_widely(ThreadClock& clock);

 private:
  struct Memo {
    SnapshotRef from;
    SnapshotRef to;
  };
  void gather(const ThreadClock& clock, Agent count);
  void step(ThreadClock& clock);
  void acquire(ThreadClock& clock, const SnapshotRef& published, Memo& memo);
  void lift(const ThreadClock& clock, Clock* known_widely);

  ClockPool* pool_;
  std::vector<Clock> gathered_;
  std::vector<Clock> from_afar_;  // of the threads: released at the cluster's scope
  SnapshotRef last_released_;
  SnapshotRef last_from_afar_;
  SnapshotRef last_lifted_;
  Agent lifted_cta_ = kNoAgent;
  SnapshotRef published_;
  SnapshotRef published_widely_;
  Memo memo_;
  Memo memo_widely_;
};

/// The clocks at which a thread fenced: its accesses up to one are visible to whoever knows of it.
class FenceLog {
 public:
  void add(Clock clock) { clocks_.push_back(clock); }
  /// Was an access at `clock` followed by a fence no later than `known`?
  bool covers(Clock clock, Clock known) const;
  /// The first fence at `clock` or later; kNever: none.
  Clock first(Clock clock) const;
  static constexpr Clock kNever = ~Clock{0};

 private:
  std::vector<Clock> clocks_;
};

}  // namespace wgrad::emu
