// tcgen05.mma, cp, commit, fence: what is checked when a thread issues them. PTX ISA, 9.7.16.10,
// 9.7.16.9, 9.7.16.12, 9.7.16.11. They happen later (tensor_execution.cpp), at the adversary's
// pace.
#include <fmt/format.h>

#include <algorithm>

#include "emu/cluster.hpp"
#include "emu/tensor/tensor_tile.hpp"
#include "wgrad/arch/emu/tcgen05_instructions.hpp"

namespace wgrad::emu {
namespace {

void require(bool ok, const std::string& what) {
  if (!ok) throw FaultError(FaultKind::kIllegal, what);
}

TensorPipe& pipe_of(Thread& thread) {
  std::deque<TensorPipe>& pipes = thread.cluster->tensor().pipes;
  if (thread.pipe == kMaxTensorPipes) {
    Cta& cta = *thread.cta;
    require(cta.tensor_pipes < kMaxTensorPipes,
            "more threads of a CTA issue tcgen05 instructions than are modelled");
    TensorPipe& pipe = pipes.emplace_back();
    pipe.cta = &cta;
    pipe.thread = &thread;
    pipe.agent = thread.cluster->pipe_agent(cta, cta.tensor_pipes);
    thread.pipe = cta.tensor_pipes++;
  }
  return *std::find_if(pipes.begin(), pipes.end(),
                       [&](const TensorPipe& pipe) { return pipe.thread == &thread; });
}

void enqueue(Thread& thread, TensorPipe& pipe, TensorWork work) {
  pipe.work.push_back(std::move(work));
  std::deque<TensorPipe>& pipes = thread.cluster->tensor().pipes;
  const auto index =
      std::find_if(pipes.begin(), pipes.end(), [&](const TensorPipe& p) { return &p == &pipe; }) -
      pipes.begin();
  thread.cluster->schedule(EventKind::kTensor, static_cast<std::uint32_t>(index));
}

// The CTAs that an instruction works in.
std::vector<Cta*> ctas_of(Thread& thread, std::uint32_t ctas, const char* action) {
  Cluster& cluster = *thread.cluster;
  use_cta_group(cluster, ctas);
  if (ctas == 1) return {thread.cta};
  require(thread.cta->rank % 2 == 0,
          fmt::format("{} for a pair by its odd CTA {}", action, thread.cta->block));
  Cta& peer = cluster.cta(thread.cta->rank + 1);
  require_running(thread, peer, action);
  return {thread.cta, &peer};
}

TensorOp operation_of(const Thread& thread, TensorPipe& pipe, TensorOpKind kind) {
  TensorOp op;
  op.kind = kind;
  op.cta = thread.cta->block;
  op.thread = thread.index;
  op.agent = thread.agent;
  op.pipe = pipe.agent;
  op.number = ++pipe.issued;
  op.issued = thread.clock.now;
  return op;
}

/// One operation's accesses, as they are noted.
class Notes {
 public:
  Notes(Thread& thread, const TensorOp& op) : thread_(&thread) {
    Cluster& cluster = *thread.cluster;
    TensorHistory& history = cluster.tensor().history;
    tensor_ = static_cast<std::uint32_t>(history.ops.size());
    history.ops.push_back(op);
    auto& ops = cluster.history().ops;
    shared_ = static_cast<std::uint32_t>(ops.size());
    ops.push_back({OpKind::kTensor, 1, op.pipe, op.number, op.pipe, op.cta, op.thread});
  }

  /// `accumulator`: as a multiplication's results, which come after those of the one before.
  void tensor(Cta& cta, const TensorRange& range, TensorMemory::Mode mode, bool accumulator) const {
    const TensorHistory& history = thread_->cluster->tensor().history;
    TensorOp op = history.ops[tensor_];
    if (!accumulator) op.accumulator = TensorOp::kNoAccumulator;
    cta.exits.awaited[op.pipe] = op.number;
    cta.tensor.touch(range, mode, tensor_, history, [&](std::uint32_t earlier) {
      return history.order(history.ops[earlier], op,
                           {thread_->clock.view(), thread_->fenced.values()});
    });
  }

  /// 16 bytes at an offset of the CTA's shared memory.
  void shared(Cta& cta, std::uint32_t at) const {
    const std::uint32_t granule = at / kGranule;
    try {
      cta.shadow.read({shared_ | kAsync, 0, 0xffff}, thread_->clock.view(), granule);
    } catch (const ShadowError& error) {
      throw FaultError(error.kind(), cta.describe(granule * kGranule) + ": " + error.what());
    }
  }

 private:
  Thread* thread_;
  std::uint32_t tensor_ = 0;
  std::uint32_t shared_ = 0;
};

void note_operand(const Thread& thread, const std::vector<Cta*>& ctas, const Notes& notes,
                  const OperandTile& tile) {
  tile.for_each_unit([&](std::uint32_t, std::uint32_t, std::uint32_t address) {
    const std::uint32_t at = thread.cta->offset(address, 16, tile.name);
    for (Cta* cta : ctas) notes.shared(*cta, at);
  });
}

}  // namespace

void tcgen05_fence_before_sync() {
  Thread& thread = me();
  thread.cluster->tensor().history.before_fences[thread.agent].add(thread.clock.now++);
}

void tcgen05_fence_after_sync() {
  Thread& thread = me();
  thread.fenced = thread.clock.known;
}

void tcgen05_multiply(const Multiplication& m) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  ++thread.cluster->stats().tcgen05s;
  const std::vector<Cta*> ctas = ctas_of(thread, m.ctas, "tcgen05_multiply");
  const TensorTiles tiles = TensorTiles::of(m);
  TensorPipe& pipe = pipe_of(thread);
  TensorOp op = operation_of(thread, pipe, TensorOpKind::kMultiply);
  op.accumulator = m.d;
  op.shape = tiles.instruction.m << 16 | tiles.instruction.n;
  const Notes notes(thread, op);
  using Mode = TensorMemory::Mode;
  for (Cta* cta : ctas) {
    for (const TensorRange& range : tiles.scales) notes.tensor(*cta, range, Mode::kRead, false);
    for (const TensorRange& range : tiles.results)
      notes.tensor(*cta, range, m.accumulate ? Mode::kReadWrite : Mode::kWrite, true);
  }
  note_operand(thread, ctas, notes, tiles.a);
  note_operand(thread, ctas, notes, tiles.b);
  TensorWork work;
  work.kind = TensorWorkKind::kMultiply;
  work.multiplication = m;
  work.ctas = m.ctas;
  work.number = op.number;
  enqueue(thread, pipe, std::move(work));
}

void tcgen05_copy_scales(std::uint32_t ctas, std::uint32_t columns, std::uint64_t atom) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  const std::vector<Cta*> all = ctas_of(thread, ctas, "tcgen05_copy_scales");
  require(lane_of(columns) == 0, "tcgen05_copy_scales to an address that is not in lane 0");
  const OperandTile source = scale_atom(atom);
  TensorPipe& pipe = pipe_of(thread);
  const TensorOp op = operation_of(thread, pipe, TensorOpKind::kCopy);
  const Notes notes(thread, op);
  for (Cta* cta : all) {
    notes.tensor(*cta, {0, kTensorLanes, column_of(columns), kAtomColumns},
                 TensorMemory::Mode::kWrite, false);
  }
  note_operand(thread, all, notes, source);
  TensorWork work;
  work.kind = TensorWorkKind::kCopy;
  work.ctas = ctas;
  work.column = column_of(columns);
  work.atom = atom;
  work.number = op.number;
  enqueue(thread, pipe, std::move(work));
}

// At an mbarrier with this offset in each CTA of the mask.
void tcgen05_commit(std::uint32_t ctas, std::uint32_t barrier, std::uint32_t cta_mask) {
  Thread& thread = me();
  Cluster& cluster = *thread.cluster;
  cluster.checkpoint(thread);
  use_cta_group(cluster, ctas);
  const std::uint32_t mask = cta_mask == 0 ? 1u << thread.cta->rank : cta_mask;
  require(mask >> cluster.size() == 0,
          fmt::format("tcgen05_commit to CTAs {:#x} of a cluster of {}", mask, cluster.size()));
  const std::uint32_t at = thread.cta->offset(barrier, 8, "tcgen05_commit");
  for (std::uint32_t rank = 0; rank < cluster.size(); ++rank) {
    if ((mask >> rank & 1) == 0) continue;
    Cta& cta = cluster.cta(rank);
    require_running(thread, cta, "tcgen05_commit");
    require_fenced(cta, cta.barrier(cta.base + at, "tcgen05_commit"), thread, "tcgen05_commit");
  }
  TensorPipe& pipe = pipe_of(thread);
  TensorWork work;
  work.kind = TensorWorkKind::kCommit;
  work.ctas = ctas;
  work.barrier = at;
  work.mask = mask;
  work.number = pipe.issued;
  work.known = thread.clock.known;
  enqueue(thread, pipe, std::move(work));
}

}  // namespace wgrad::emu
