#include "emu/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "emu/cluster.hpp"

namespace wgrad::emu {
namespace {

constexpr std::size_t kStackBytes = std::size_t{128} * 1024;
constexpr std::uint32_t kMaxSharedBytes = 232448;

void check(const Launch& l) {
  const auto require = [](bool ok, const std::string& what) {
    if (!ok) throw FaultError(FaultKind::kIllegal, "launch: " + what);
  };
  require(l.cluster_size >= 1 && l.cluster_size <= 8,
          fmt::format("cluster of {} CTAs", l.cluster_size));
  require(l.ctas >= 1 && l.ctas % l.cluster_size == 0,
          fmt::format("{} CTAs are no multiple of the cluster's {}", l.ctas, l.cluster_size));
  require(l.threads >= 32 && l.threads % 32 == 0 && l.threads <= 1024,
          fmt::format("{} threads a CTA", l.threads));
  require(l.shared_bytes <= kMaxSharedBytes,
          fmt::format("{} bytes of shared memory, at most {}", l.shared_bytes, kMaxSharedBytes));
  require(l.registers * l.threads <= kRegisterFile,
          fmt::format("{} threads with {} registers each exceed {}", l.threads, l.registers,
                      kRegisterFile));
  require(l.resident_ctas >= l.cluster_size,
          fmt::format("{} SMs for a cluster of {}", l.resident_ctas, l.cluster_size));
}

class Machine {
 public:
  Machine(std::span<const Launch> stream, GlobalMemory& memory, const Adversary& adversary)
      : grids_(stream.size()),
        memory_(memory),
        adversary_(adversary),
        random_(adversary.seed ^ 0x5eed) {
    for (std::size_t i = 0; i < stream.size(); ++i) {
      check(stream[i]);
      grids_[i].launch = &stream[i];
      if (i > 0) grids_[i].before = &grids_[i - 1];
    }
    memory_.clear_traces();
  }

  Outcome run() {
    while (true) {
      begin_clusters();
      if (active_.empty()) return std::move(outcome_);
      const std::size_t at = choose();
      Cluster& cluster = *active_[at];
      const bool moved = cluster.advance(quantum());
      if (moved) still_ = 0;
      if (cluster.fault) {
        outcome_.fault = cluster.fault;
      } else if (cluster.finished()) {
        end(at);
      } else if (!moved && !waits_for_grid(cluster) && !may_be_woken(cluster)) {
        outcome_.fault = cluster.deadlock();
      } else if (outcome_.stats.switches > adversary_.step_limit) {
        outcome_.fault = Fault{FaultKind::kEndless,
                               fmt::format("still running after {} switches, while others wait{}",
                                           outcome_.stats.switches, cluster.waiting()),
                               ""};
      }
      if (outcome_.fault) {
        active_.clear();
        return std::move(outcome_);
      }
    }
  }

 private:
  bool may_begin(const Grid& grid) {
    if (grid.next == grid.clusters()) return false;
    bool alone = true;  // all launches before it are complete
    for (const Grid* g = grid.before; g != nullptr; g = g->before) alone = alone && g->complete();
    if (alone) return true;
    // Its CTAs begin when it pleases the hardware.
    return grid.launch->programmatic && grid.before->ready_ctas == grid.before->launch->ctas &&
           random_.below(4) == 0;
  }

  void begin_clusters() {
    for (Grid& grid : grids_) {
      while (may_begin(grid) &&
             running_ + grid.launch->cluster_size <= grid.launch->resident_ctas) {
        active_.push_back(
            std::make_unique<Cluster>(grid, memory_, stacks(), adversary_, grid.next++, outcome_));
        running_ += grid.launch->cluster_size;
      }
    }
  }

  /// Whoever is behind, where time is kept: clusters take turns at what they share in memory.
  bool in_time() const { return adversary_.timing == Timing::kModel && grids_.size() == 1; }
  std::size_t choose() {
    if (!in_time()) return random_.below(static_cast<std::uint32_t>(active_.size()));
    const auto first =
        std::min_element(active_.begin(), active_.end(),
                         [](const auto& a, const auto& b) { return a->now() < b->now(); });
    return static_cast<std::size_t>(first - active_.begin());
  }
  std::uint64_t quantum() { return std::uint64_t{1} << (in_time() ? 4 : random_.below(14)); }

  /// Clusters share no barrier: all that another one does to wake a thread is to change a number in
  /// memory. It will not where all of them have stood still for a while.
  bool may_be_woken(const Cluster& cluster) {
    constexpr std::uint32_t kWhile = 1000;  // looks at each of those that run
    return cluster.waiting_for_memory > 0 && ++still_ < kWhile * active_.size();
  }

  static bool waits_for_grid(Cluster& cluster) {
    return !cluster.waiting_for_grid().empty() && !cluster.grid().before->complete();
  }

  void end(std::size_t at) {
    Grid& grid = active_[at]->grid();
    running_ -= grid.launch->cluster_size;
    active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(at));
    ++grid.finished;
    if (!grid.complete()) return;
    memory_.clear_traces();  // complete: in order before all that waits for it
    for (const auto& cluster : active_) {
      if (cluster->grid().before == &grid) cluster->wake_all(cluster->waiting_for_grid());
    }
  }

  // Kept for the next launch: mapping them costs more than a small one.
  static StackPool& stacks() {
    thread_local StackPool pool(kStackBytes);
    return pool;
  }

  std::vector<Grid> grids_;
  GlobalMemory& memory_;
  const Adversary& adversary_;
  Random random_;
  Outcome outcome_;
  std::vector<std::unique_ptr<Cluster>> active_;
  std::uint32_t running_ = 0;  // CTAs
  std::uint32_t still_ = 0;    // times that a cluster was chosen since one of them did something
};

}  // namespace

Outcome run(const Launch& launch, GlobalMemory& memory, const Adversary& adversary) {
  return run(std::span(&launch, 1), memory, adversary);
}

Outcome run(std::span<const Launch> stream, GlobalMemory& memory, const Adversary& adversary) {
  return Machine(stream, memory, adversary).run();
}

}  // namespace wgrad::emu
