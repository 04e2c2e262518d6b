// Timing::kModel: device threads and asynchronous steps in the order of their times.
#include <algorithm>
#include <tuple>

#include "emu/cluster.hpp"
#include "emu/tensor/tensor_tile.hpp"

namespace wgrad::emu {
namespace {

// As a heap: the earliest first; among equals the same order on every machine.
bool later(const Thread* a, const Thread* b) {
  return std::tie(a->time, a->agent) > std::tie(b->time, b->agent);
}

std::uint64_t bytes_of(const TensorMapFields& map) {
  return std::uint64_t{box_rows(map)} * row_bytes(map);
}

// Until a load's value is there; 0: no load.
std::uint64_t latency_of(Cost cost) {
  switch (cost) {
    case Cost::kSharedLoad:
      return TimeModel::kSharedLoad;
    case Cost::kGlobalLoad:
      return TimeModel::kGlobalLoad;
    case Cost::kAtomic:
      return TimeModel::kAtomic;
    default:
      return 0;
  }
}

std::uint64_t issue_of(Cost cost) {
  switch (cost) {
    case Cost::kTryWait:
      return TimeModel::kTryWait;
    case Cost::kBulkWait:
      return TimeModel::kBulkWait;
    case Cost::kCopyIssue:
      return TimeModel::kCopyIssue;
    case Cost::kGlobalStore:
      return TimeModel::kGlobalStore;
    case Cost::kProxyFence:
      return TimeModel::kProxyFence;
    default:
      return TimeModel::kIssue;
  }
}

// Bytes a cycle: half of a row that begins off a 128-byte line comes from another one. Operands
// count as if they began at one, as they do on a GPU.
std::uint64_t load_rate(const TensorMapFields& map, const std::int32_t* x) {
  const BoxRow row = box_row(map, x, 0);
  return (row.address + row.first - map.base) % 128 == 0 ? TimeModel::kLoadBytes
                                                         : TimeModel::kSplitLoadBytes;
}

}  // namespace

void Cluster::make_ready(Thread& thread) {
  ready_.push_back(&thread);
  if (timed()) std::push_heap(ready_.begin(), ready_.end(), later);
}

std::size_t Cluster::earliest_event() const {
  const auto first = std::min_element(events_.begin(), events_.end(),
                                      [](const auto& a, const auto& b) { return a.due < b.due; });
  return static_cast<std::size_t>(first - events_.begin());
}

void Cluster::tick(Thread& thread, Cost cost) {
  if (const std::uint64_t latency = latency_of(cost); latency != 0) {
    thread.loaded = std::max(thread.loaded, thread.time + latency);
    thread.time += TimeModel::kIssue;
  } else {
    thread.time = std::max(thread.time, thread.loaded) + issue_of(cost);
  }
  now_ = std::max(now_, thread.time);
  std::uint64_t others = ready_.empty() ? kNever : ready_.front()->time;
  if (!events_.empty()) others = std::min(others, events_[earliest_event()].due);
  if (others == kNever || thread.time <= others + TimeModel::kSlack) return;
  make_ready(thread);
  thread.fiber.pause();
}

// One step: whatever is due first. False: nothing will ever happen.
bool Cluster::step_in_time() {
  const std::size_t event = earliest_event();
  const bool has_event = event < events_.size();
  if (ready_.empty() && !has_event) return false;
  if (has_event && (ready_.empty() || events_[event].due <= ready_.front()->time)) {
    now_ = events_[event].due;
    happen(event);
    return true;
  }
  std::pop_heap(ready_.begin(), ready_.end(), later);
  Thread& thread = *ready_.back();
  ready_.pop_back();
  now_ = thread.time;
  run_thread(thread);
  return true;
}

// An engine does one thing after the other. Returns the cycle at which it is done with this one.
std::uint64_t Cluster::occupy(Cta& cta, EngineSpan::Engine engine, std::uint64_t cycles,
                              std::uint32_t amount) {
  std::uint64_t& free = cta.engine_free[static_cast<std::size_t>(engine)];
  const std::uint64_t begin = std::max(free, now_);
  free = begin + cycles;
  outcome_->spans.push_back({engine, cta.block, begin, free, amount});
  return free;
}

// Of what was issued last: one thing after the other, a commit when the last of them is done.
std::uint64_t Cluster::due(const TensorPipe& pipe) {
  const TensorWork& work = pipe.work.back();
  const auto multiply = static_cast<std::size_t>(EngineSpan::Engine::kMultiply);
  std::uint64_t done = std::max(pipe.cta->engine_free[multiply], now_);
  if (work.kind == TensorWorkKind::kMultiply) {
    const TensorTiles tiles = TensorTiles::of(work.multiplication);
    const std::uint32_t n = tiles.instruction.n;
    const std::uint64_t cycles = TimeModel::tcgen05_cycles(tiles.rows(), n, work.ctas);
    for (std::uint32_t c = 0; c < work.ctas; ++c)
      done = occupy(*ctas_[pipe.cta->rank ^ c], EngineSpan::Engine::kMultiply, cycles, n);
  } else if (work.kind == TensorWorkKind::kCopy) {
    done = occupy(*pipe.cta, EngineSpan::Engine::kMultiply, TimeModel::kScaleCopy, 0);
  }
  return done + TimeModel::kTcgen05Latency;
}

std::uint64_t Cluster::due(const Event& event) {
  using Engine = EngineSpan::Engine;
  switch (event.kind) {
    case EventKind::kLoad: {
      const LoadOp& op = loads_[event.index];
      const std::uint64_t bytes = bytes_of(op.map);
      const std::uint64_t share = bytes / op.copies / load_rate(op.map, op.x.data());
      return occupy(*op.cta, Engine::kLoad, share, static_cast<std::uint32_t>(bytes)) +
             TimeModel::kLoadLatency;
    }
    case EventKind::kWgmma: {
      const auto per_cta = static_cast<std::uint32_t>(ctas_[0]->warpgroups.size());
      Cta& cta = *ctas_[event.index / per_cta];
      const std::uint32_t n = cta.warpgroups[event.index % per_cta].ops.back().n;
      return occupy(cta, Engine::kMultiply, TimeModel::multiply_cycles(n), n) +
             TimeModel::kMultiplyLatency;
    }
    case EventKind::kTensor:
      return due(tensor_.pipes[event.index]);
    case EventKind::kStoreRead:
      return now_ + bytes_of(stores_[event.index].map) / TimeModel::kStoreReadBytes;
    case EventKind::kStoreWrite: {
      const StoreOp& op = stores_[event.index];
      const std::uint64_t bytes = bytes_of(op.map);
      const std::uint64_t rate = op.add ? TimeModel::kAddBytes : TimeModel::kStoreBytes;
      return occupy(*op.thread->cta, Engine::kStore, bytes / rate,
                    static_cast<std::uint32_t>(bytes)) +
             TimeModel::kStoreLatency;
    }
  }
  return now_;
}

}  // namespace wgrad::emu
