// The inside of the machine: threads, warps, warpgroups, CTAs and the cluster that schedules them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "emu/fiber.hpp"
#include "emu/machine.hpp"
#include "emu/memory/tensor_map.hpp"
#include "emu/order/clocks.hpp"
#include "emu/order/shadow.hpp"
#include "emu/random.hpp"
#include "emu/tensor/tensor_memory.hpp"
#include "emu/tensor/tensor_pipe.hpp"

namespace wgrad::emu {

inline constexpr std::uint32_t kWarpThreads = 32;
inline constexpr std::uint32_t kWarpgroupThreads = 128;
inline constexpr std::uint32_t kMaxBarriers = 96;      // mbarriers of a CTA
inline constexpr std::uint32_t kMaxBulkThreads = 16;   // threads of a CTA that store in bulk
inline constexpr std::uint32_t kRegisterFile = 65536;  // of an SM
inline constexpr std::uint32_t kRankShift =
    24;  // shared::cluster addresses: (rank + 1) << 24 | address
constexpr std::uint32_t unmapped(std::uint32_t address) {
  return address & ((1u << kRankShift) - 1);
}

struct Cta;
class Cluster;
struct Warpgroup;

struct Words {  // 16 bytes
  std::array<std::uint32_t, 4> word{};
};

enum class WaitKind : std::uint8_t {
  kNothing,
  kMbarrier,
  kNamed,
  kCluster,
  kWarp,
  kWgmma,
  kBulk,
  kRegisters,
  kGrid,
  kTensorAllocation,
  kTensorFree,
  kMemory
};

/// What an instruction costs the thread that executes it.
enum class Cost : std::uint8_t {
  kIssue,
  kSharedLoad,
  kGlobalLoad,
  kAtomic,  // up to here: a value that comes later
  kTryWait,
  kBulkWait,
  kCopyIssue,
  kGlobalStore,
  kProxyFence
};

struct Wait {
  WaitKind kind = WaitKind::kNothing;
  std::uint32_t which = 0;  // barrier, count of operations, registers
  std::uint32_t parity = 0;
};

struct BulkGroup {
  bool used = false;
  std::uint32_t reads = 0;   // operations that still read shared memory
  std::uint32_t writes = 0;  // operations that are not complete in global memory
};

/// A thread's copy of 16 bytes (cp.async) that has not landed.
struct ThreadCopy {
  std::uint32_t target = 0;              // offset in the CTA
  const std::uint8_t* source = nullptr;  // null where nothing is read
  std::uint32_t bytes = 0;               // that are read; zeros follow
};

struct CopyGroup {
  std::optional<std::uint32_t> record;  // all its copies are one operation
  std::vector<ThreadCopy> late;
};

/// Accumulators that belong to wgmmas in flight: the thread may not touch them.
struct HeldAccumulators {
  float* registers = nullptr;
  std::uint32_t count = 0;
  std::uint32_t tile = 0;   // of the warpgroup
  std::uint32_t group = 0;  // the last group that writes them
};

struct Thread {
  Cluster* cluster = nullptr;
  Cta* cta = nullptr;
  std::uint32_t index = 0;  // in the CTA
  Agent agent = 0;
  ThreadClock clock;
  Fiber fiber;
  Wait wait;
  std::uint64_t time = 0;    // Timing::kModel: when it may run on
  std::uint64_t loaded = 0;  // when its last load's value is there
  bool exited = false;
  bool grid_waited = false;
  std::uint32_t knows_begun = 0;  // bits: CTAs of the cluster

  std::uint32_t matrix_stores = 0;        // stmatrix executed
  std::uint32_t wgmmas = 0;               // issued
  std::uint32_t wgmma_groups = 0;         // committed
  std::vector<std::uint32_t> group_ends;  // wgmmas issued when each group was committed
  bool wgmma_fenced = false;
  std::vector<HeldAccumulators> held;

  std::deque<CopyGroup> copy_groups;  // the last is open

  Agent bulk_agent = kNoAgent;
  std::deque<BulkGroup> bulk_groups;  // the last is open
  std::uint32_t bulk_first = 1;       // number of the first group in the deque

  SnapshotRef fenced;                    // known at the last tcgen05_fence_after_sync
  std::uint32_t pipe = kMaxTensorPipes;  // of the CTA's that issue to the tensor cores; none yet
  std::uint64_t tensor_allocations = 0;
  std::uint64_t tensor_frees = 0;
  std::vector<HeldLoad> tensor_loads;
  std::vector<HeldStore> tensor_stores;

  std::uint32_t warp() const { return index / kWarpThreads; }
  std::uint32_t lane() const { return index % kWarpThreads; }
};

struct Mbarrier {
  std::uint32_t offset = 0;
  std::uint32_t expected = 0;
  std::int64_t pending = 0;
  std::int64_t bytes = 0;   // transaction count
  std::uint32_t phase = 0;  // completed phases
  Agent agent = 0;
  Agent maker = 0;  // thread that initialised it
  Clock made = 0;
  Gate gate;
  std::vector<Thread*> waiting;
  Clock loaded = 0;     // the phase that the last copy counted for
  Clock committed = 0;  // and the last tcgen05_commit
};

/// What the threads of a CTA that left knew, and what must have been among it.
struct Exits {
  SnapshotRef last;
  std::vector<Clock> known;
  std::unordered_map<Agent, Clock> touched_from_afar;  // by threads of other CTAs
  std::unordered_map<Agent, Clock> awaited;  // operations on the CTA's memory, by their completion
};

struct NamedBarrier {
  std::uint32_t count = 0;
  std::uint32_t arrived = 0;
  std::uint64_t generation = 0;
  bool any = false;     // of those who have come
  bool result = false;  // of the last meeting
  std::unique_ptr<Gate> gate;
  std::vector<Thread*> waiting;
};

struct MatrixStore {
  std::array<std::uint32_t, kWarpThreads> rows{};
  std::array<Words, kWarpThreads> words{};
  std::array<Clock, kWarpThreads> clocks{};
  std::uint32_t arrived = 0;
};

struct Warp {
  // One rendezvous at a time: shuffles, ldmatrix, warp barriers, register moves.
  const char* what = nullptr;
  std::uint32_t arrived = 0;
  std::uint64_t generation = 0;
  std::array<std::uint64_t, kWarpThreads> in{};
  std::array<Words, kWarpThreads> out{};
  std::vector<Thread*> waiting;
  std::unique_ptr<Gate> gate;

  std::deque<MatrixStore> stores;
  std::uint32_t first_store = 0;  // number of stores.front()
  std::uint32_t registers = 0;
  std::uint32_t elected = kWarpThreads;  // the lane that elect picks; nobody yet
};

struct WgmmaOp {
  std::uint64_t a = 0;  // descriptor, or 0 with fragments
  std::uint64_t b = 0;
  std::uint32_t n = 0;
  bool keep = false;
  bool fp16 = false;
  bool fp8 = false;  // e4m3, or e5m2
  bool a_e5m2 = false;
  bool b_e5m2 = false;
  bool a_mn_major = false;
  bool b_mn_major = false;
  std::unique_ptr<std::array<Words, kWarpgroupThreads>> fragments;
  std::uint32_t group = 0;
  std::uint32_t tile = 0;
  std::uint32_t record = 0;
  std::uint32_t arrived = 0;
  std::array<SnapshotRef, 4> known;  // of each warp's lane 0 at its issue
};

struct AccumulatorTile {
  std::uint32_t n = 0;
  std::uint32_t holders = 0;
  std::vector<float> values;  // 64 x n
};

struct Warpgroup {
  Cta* cta = nullptr;
  std::uint32_t first_thread = 0;
  std::deque<WgmmaOp> ops;
  std::uint32_t executed = 0;  // number of ops.front()
  std::vector<AccumulatorTile> tiles;
  std::vector<Thread*> waiting;
  std::array<SnapshotRef, 4> met;  // memo of the last meeting of four
  SnapshotRef meeting;
};

/// A tensor or bulk load into one CTA.
struct LoadOp {
  TensorMapFields map;
  std::array<std::int32_t, 5> x{};
  Cta* cta = nullptr;
  std::uint32_t target = 0;  // shared address
  Cta* barrier_cta = nullptr;
  std::uint32_t barrier = 0;  // index in that CTA
  std::uint32_t record = 0;
  std::uint32_t copies = 1;  // CTAs that the same box goes to
  std::uint32_t rows_done = 0;
};

struct StoreOp {
  TensorMapFields map;
  std::array<std::int32_t, 5> x{};
  Thread* thread = nullptr;
  std::uint32_t source = 0;
  std::uint32_t group = 0;
  bool add = false;
  std::vector<std::uint8_t> bytes;  // captured when shared memory was read
};

enum class EventKind : std::uint8_t { kLoad, kStoreRead, kStoreWrite, kWgmma, kTensor };

/// An asynchronous step that may happen from now on.
struct Event {
  EventKind kind = EventKind::kLoad;
  std::uint64_t due = 0;  // cluster step at which it happens at the latest, unless kNever
  std::uint32_t index = 0;
};
inline constexpr std::uint64_t kNever = ~std::uint64_t{0};

/// One launch of a stream, as the machine runs it.
struct Grid {
  const Launch* launch = nullptr;
  const Grid* before = nullptr;  // in the stream
  std::uint32_t next = 0;        // clusters that have begun
  std::uint32_t finished = 0;    // and that have ended
  std::uint32_t ready_ctas = 0;  // that let the next launch begin, or have ended

  std::uint32_t clusters() const { return launch->ctas / launch->cluster_size; }
  bool complete() const { return finished == clusters(); }
};

struct Cta {
  Cta(Cluster& owner, std::uint32_t rank_in_cluster, std::uint32_t index);

  Cluster* cluster;
  std::uint32_t rank;
  std::uint32_t block;
  std::uint32_t base;  // shared address of byte 0
  std::vector<std::uint8_t> bytes;
  Shadow shadow;
  std::vector<std::uint8_t> barrier_at;  // by 8 bytes: index + 1
  std::vector<std::unique_ptr<Mbarrier>> barriers;
  std::array<NamedBarrier, 16> named;
  std::vector<Warp> warps;
  std::vector<Warpgroup> warpgroups;
  std::uint32_t live = 0;  // threads that have not exited
  std::uint32_t bulk_threads = 0;
  std::int64_t free_registers = 0;
  std::vector<Thread*> register_waiting;
  std::array<std::uint64_t, 3> engine_free{};  // by EngineSpan::Engine: when it can begin more
  std::uint32_t loads_in_flight = 0;           // into this CTA
  std::uint32_t reads_in_flight = 0;           // bulk stores that still read it
  bool let_next_begin = false;                 // launch_dependents(), or its end
  Exits exits;
  TensorMemory tensor;
  TensorAllocator tensor_allocator;
  std::uint32_t tensor_pipes = 0;

  /// Byte offset of a shared address of this CTA; throws for what lies outside.
  std::uint32_t offset(std::uint32_t address, std::uint32_t size, const char* action) const;
  std::string describe(std::uint32_t offset) const;
  Mbarrier& barrier(std::uint32_t address, const char* action);
};

class Cluster {
 public:
  Cluster(Grid& grid, GlobalMemory& memory, StackPool& stacks, const Adversary& adversary,
          std::uint32_t index, Outcome& outcome);
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Runs up to `quantum` steps. False: nothing can run until another cluster does something.
  bool advance(std::uint64_t quantum);
  bool finished() const { return live_ == 0 && events_.empty(); }
  Fault deadlock() const;
  /// For each thing that threads wait for: what is missing, and who waits.
  std::string waiting() const;

  // Used by the instructions.
  const Launch& launch() const { return *launch_; }
  Grid& grid() { return *grid_; }
  /// Threads in grid_dependency_wait().
  std::vector<Thread*>& waiting_for_grid() { return waiting_for_grid_; }
  /// Threads that wait for a number in global memory, which another cluster may change.
  std::uint32_t waiting_for_memory = 0;
  GlobalMemory& memory() { return *memory_; }
  ClockPool& clocks() { return clocks_; }
  History& history() { return history_; }
  std::vector<GlobalAcquire>& global_acquires() { return global_acquires_; }
  Stats& stats() { return outcome_->stats; }
  Random& random() { return random_; }
  Cta& cta(std::uint32_t rank) { return *ctas_[rank]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(ctas_.size()); }
  std::uint32_t index() const { return index_; }
  NamedBarrier& barrier() { return barrier_; }
  std::uint32_t live() const { return live_; }
  Thread& thread(Agent agent) { return *threads_[agent]; }
  TensorState& tensor() { return tensor_; }
  std::uint64_t step() const { return step_; }

  Agent barrier_agent(const Cta& cta, std::uint32_t slot) const;
  Agent warp_agent(const Cta& cta, std::uint32_t warp) const;
  Agent bulk_agent(const Cta& cta, std::uint32_t slot) const;
  Agent pipe_agent(const Cta& cta, std::uint32_t slot) const;

  /// Pauses the running thread until somebody wakes it.
  void block(Thread& thread, Wait wait);
  void wake(Thread& thread);
  void wake_all(std::vector<Thread*>& threads);
  /// A place where the adversary may let others run.
  void checkpoint(Thread& thread, Cost cost = Cost::kIssue) {
    if (timed()) return tick(thread, cost);
    if (--until_preemption_ == 0) preempt(thread);
  }
  bool timed() const { return timing_ == Timing::kModel; }
  /// Of what happens now, in cycles; without a model, in steps.
  std::uint64_t now() const { return timed() ? now_ : step_; }

  void schedule(EventKind kind, std::uint32_t index);
  std::uint32_t add_load(LoadOp op);
  std::uint32_t add_store(StoreOp op);
  std::uint64_t trace_id(std::uint32_t record) const {
    return (std::uint64_t{index_} + 1) << 32 | record;
  }

  std::optional<Fault> fault;

 private:
  void preempt(Thread& thread);
  void tick(Thread& thread, Cost cost);
  std::uint64_t due(const Event& event);
  std::uint64_t due(const TensorPipe& pipe);
  std::uint64_t occupy(Cta& cta, EngineSpan::Engine engine, std::uint64_t cycles,
                       std::uint32_t amount);
  void make_ready(Thread& thread);
  std::size_t earliest_event() const;
  bool step_in_time();
  void rearm_preemption();
  bool starved(const Thread& thread) const {
    return starved_ != kNoAgent && thread.agent / kWarpThreads == starved_ / kWarpThreads;
  }
  Thread* pick();
  bool happen(std::size_t event);
  bool happen_due();
  void run_thread(Thread& thread);
  void body(Thread& thread);

  Grid* grid_;
  const Launch* launch_;
  GlobalMemory* memory_;
  Outcome* outcome_;
  std::uint32_t index_;
  Random random_;
  Timing timing_;
  std::uint32_t preempt_every_ = 0;
  std::uint32_t until_preemption_ = 1;
  std::uint32_t eager_weight_ = 1;  // of 8
  std::uint32_t lazy_weight_ = 3;   // of 8
  Agent starved_ = kNoAgent;        // first thread of a warp that is nearly always passed over
  std::uint32_t slow_warps_ = 0;    // bits: warps that run only when others cannot
  ClockPool clocks_;
  History history_;
  std::vector<GlobalAcquire> global_acquires_;
  std::vector<std::unique_ptr<Cta>> ctas_;
  std::vector<std::unique_ptr<Thread>> threads_;
  NamedBarrier barrier_;  // of the whole cluster
  std::vector<Thread*> waiting_for_grid_;
  std::vector<Thread*> ready_;
  std::vector<Event> events_;
  std::uint64_t next_due_ = kNever;
  std::uint64_t now_ = 0;
  std::vector<LoadOp> loads_;
  std::vector<std::uint32_t> free_loads_;
  std::vector<StoreOp> stores_;
  std::vector<std::uint32_t> free_stores_;
  TensorState tensor_;
  std::uint32_t live_ = 0;
  std::uint64_t step_ = 0;

  friend bool land(Cluster& cluster, std::uint32_t index);
  friend void read_source(Cluster& cluster, std::uint32_t index);
  friend void write_target(Cluster& cluster, std::uint32_t index);
};

/// The device thread that runs now.
Thread& me();
void set_me(Thread* thread);

// Instructions' halves that events finish.
bool land(Cluster& cluster, std::uint32_t index);  ///< true: the load is complete
void read_source(Cluster& cluster, std::uint32_t index);
void write_target(Cluster& cluster, std::uint32_t index);
void execute_wgmma(Warpgroup& warpgroup);
void execute_tensor(Cluster& cluster, TensorPipe& pipe);

/// Waits for the other lanes of the warp, as a .sync.aligned instruction does; orders no memory.
void converge(Thread& thread, const char* what);

/// Throws unless the last asynchronous accesses of 16 bytes come before one by who knows `view`.
void check_touch(Cluster& cluster, const GlobalMemory::Trace& trace, const ClockView& view,
                 bool write, std::uint64_t address);

/// Throws unless an ordinary store to the bytes at `address` comes before an access by a thread of
/// CTA `rank` that knows `view`.
void check_store_seen(Cluster& cluster, const GlobalMemory::Store& store, std::uint32_t rank,
                      const ClockView& view, std::uint64_t address, const char* action);

/// In a programmatic launch, global memory may be used only after grid_dependency_wait().
void check_dependency(const Thread& thread);

/// The CTA that an address from map_to_rank belongs to, for an access of `thread` now. Throws once
/// it has exited, and unless the thread knows that it has begun.
Cta& mapped_cta(Thread& thread, std::uint32_t address, const char* action);

// What a thread's exit checks and releases.
void leave(Thread& thread);
void release_barriers_of(Thread& thread);

/// Throws unless the copy engine and other CTAs can see that `barrier` is initialised.
void require_fenced(const Cta& cta, const Mbarrier& barrier, const Thread& thread,
                    const char* action);

/// Transaction bytes of a copy that landed.
void complete_bytes(Cta& cta, Mbarrier& barrier, std::uint32_t bytes);

/// A commit's arrival: operations up to `number` of `pipe` are complete, and what their thread knew
/// comes before them.
void arrive_committed(Cta& cta, Mbarrier& barrier, const TensorPipe& pipe, Clock number,
                      const SnapshotRef& known);

/// A kernel uses one cta_group throughout (PTX ISA, 9.7.16.5 "tcgen05.mma ... cta_group").
void use_cta_group(Cluster& cluster, std::uint32_t ctas);

/// Throws unless the thread knows that the CTA has begun, and it has not exited.
void require_running(Thread& thread, const Cta& cta, const char* action);

}  // namespace wgrad::emu
