// wgmma: issue, commit, wait, and the moment at which operands are read.
// PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Operation using
// wgmma.mma_async".
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "emu/arithmetic/half.hpp"
#include "emu/arithmetic/multiply.hpp"
#include "emu/cluster.hpp"
#include "emu/tensor/matrix_descriptor.hpp"
#include "wgrad/arch/emu/instructions.hpp"

namespace wgrad::emu {
namespace {

Warpgroup& warpgroup_of(Thread& thread) {
  const std::uint32_t index = thread.index / kWarpgroupThreads;
  if (index >= thread.cta->warpgroups.size())
    throw FaultError(FaultKind::kIllegal, "wgmma outside a whole warpgroup");
  return thread.cta->warpgroups[index];
}

// Accumulator i of a thread: its row and column of the 64 x n tile. PTX, "Register Fragments", D of
// wgmma.m64nNk16.
std::uint32_t row_of(std::uint32_t thread, std::uint32_t i) {
  return thread / 32 * 16 + thread % 32 / 4 + (i / 2 % 2) * 8;
}
std::uint32_t column_of(std::uint32_t thread, std::uint32_t i) {
  return i / 4 * 8 + thread % 4 * 2 + i % 2;
}

void take_accumulators(const Thread& thread, const HeldAccumulators& held, AccumulatorTile& tile) {
  const std::uint32_t t = thread.index % kWarpgroupThreads;
  for (std::uint32_t i = 0; i < held.count; ++i) {
    tile.values[row_of(t, i) * tile.n + column_of(t, i)] = held.registers[i];
  }
  // Reading them before the wait gives nonsense on hardware; here it gives NaN.
  std::fill_n(held.registers, held.count, std::numeric_limits<float>::quiet_NaN());
}

void give_accumulators(const Thread& thread, const HeldAccumulators& held, AccumulatorTile& tile) {
  const std::uint32_t t = thread.index % kWarpgroupThreads;
  for (std::uint32_t i = 0; i < held.count; ++i) {
    held.registers[i] = tile.values[row_of(t, i) * tile.n + column_of(t, i)];
  }
  --tile.holders;
}

std::uint32_t free_tile(Warpgroup& wg, std::uint32_t n) {
  for (std::uint32_t i = 0; i < wg.tiles.size(); ++i) {
    if (wg.tiles[i].holders != 0) continue;
    wg.tiles[i].n = n;
    return i;
  }
  wg.tiles.push_back({n, 0, std::vector<float>(kWgmmaRows * kWgmmaColumns)});
  return static_cast<std::uint32_t>(wg.tiles.size() - 1);
}

// The accumulators as this operation sees them: already in flight, or handed over now.
void hold(Thread& thread, Warpgroup& wg, WgmmaOp& op, float* registers, bool first) {
  const auto held =
      std::find_if(thread.held.begin(), thread.held.end(),
                   [&](const HeldAccumulators& h) { return h.registers == registers; });
  if (held != thread.held.end()) {
    if (held->count != op.n / 2)
      throw FaultError(FaultKind::kIllegal, "accumulators in flight used with another N");
    if (first) op.tile = held->tile;
    held->group = op.group;
    if (op.tile == held->tile) return;
    throw FaultError(FaultKind::kIllegal, "wgmma on different accumulators in one warpgroup");
  }
  if (!thread.wgmma_fenced) {
    throw FaultError(FaultKind::kRace,
                     "wgmma on accumulators that were ordinary registers, without wgmma_fence");
  }
  if (first) op.tile = free_tile(wg, op.n);
  ++wg.tiles[op.tile].holders;
  thread.held.push_back({registers, op.n / 2, op.tile, op.group});
  take_accumulators(thread, thread.held.back(), wg.tiles[op.tile]);
}

// What all four warps know: the operation may start when the slowest allows it.
const SnapshotRef& meeting_of(Warpgroup& wg, const WgmmaOp& op) {
  if (wg.meeting && wg.met == op.known) return wg.meeting;
  ClockPool& pool = wg.cta->cluster->clocks();
  std::vector<Clock> least(op.known[0].values(), op.known[0].values() + pool.agents().count);
  for (std::size_t w = 1; w < 4; ++w) {
    const Clock* known = op.known[w].values();
    for (std::size_t i = 0; i < least.size(); ++i) least[i] = std::min(least[i], known[i]);
  }
  wg.met = op.known;
  wg.meeting = pool.copy(least.data());
  return wg.meeting;
}

template <typename Use>
void for_each_chunk(const MatrixDescriptor& d, std::uint32_t extent, const Use& use) {
  if (d.mn_major) {
    for (std::uint32_t k = 0; k < kWgmmaDepth; ++k) {
      for (std::uint32_t mn = 0; mn < extent; mn += 8) use(mn, k, d.chunk(mn, k));
    }
  } else {
    for (std::uint32_t mn = 0; mn < extent; ++mn) {
      for (std::uint32_t k = 0; k < kWgmmaDepth; k += 8) use(mn, k, d.chunk(mn, k));
    }
  }
}

void check_operand(Warpgroup& wg, const MatrixDescriptor& d, std::uint32_t extent,
                   const Access& access, const ClockView& view) {
  Cta& cta = *wg.cta;
  for_each_chunk(d, extent, [&](std::uint32_t, std::uint32_t, std::uint32_t address) {
    const std::uint32_t granule = cta.offset(address, 16, "wgmma read") / kGranule;
    try {
      cta.shadow.read(access, view, granule);
    } catch (const ShadowError& error) {
      throw FaultError(error.kind(), cta.describe(granule * kGranule) + ": " + error.what());
    }
  });
}

// All 128 threads have issued it: from now on it may read its operands.
void arm(Thread& thread, Warpgroup& wg, WgmmaOp& op) {
  const SnapshotRef& known = meeting_of(wg, op);
  const ClockView view{known.values(), kNoAgent, 0, kNoAgent, 0};
  const Access access{op.record | kAsync, 0, 0xffff};
  if (op.fragments == nullptr) {
    check_operand(wg, MatrixDescriptor::decode(op.a, op.a_mn_major), kWgmmaRows, access, view);
  }
  check_operand(wg, MatrixDescriptor::decode(op.b, op.b_mn_major), op.n, access, view);
  ++thread.cluster->stats().wgmmas;
  const auto per_cta = static_cast<std::uint32_t>(wg.cta->warpgroups.size());
  thread.cluster->schedule(EventKind::kWgmma,
                           wg.cta->rank * per_cta + wg.first_thread / kWarpgroupThreads);
}

/// FP8: 16 elements along K.
void decode_fp8_chunk(const std::uint8_t* bytes, bool e5m2, float* out, std::uint32_t step) {
  for (std::uint32_t i = 0; i < 16; ++i) out[i * step] = fp8_to_float(bytes[i], e5m2);
}

/// K-major: a row's 32 bytes are two chunks, which for_each_chunk() counts as 16-bit elements.
void read_fp8(const WgmmaOp& op, const Cta& cta, float* a, float* b) {
  const auto at = [&](std::uint32_t address) { return &cta.bytes[address - cta.base]; };
  for_each_chunk(MatrixDescriptor::decode(op.a, false), kWgmmaRows,
                 [&](std::uint32_t m, std::uint32_t k, std::uint32_t address) {
                   decode_fp8_chunk(at(address), op.a_e5m2, a + m * kFp8Depth + 2 * k, 1);
                 });
  for_each_chunk(MatrixDescriptor::decode(op.b, false), op.n,
                 [&](std::uint32_t n, std::uint32_t k, std::uint32_t address) {
                   decode_fp8_chunk(at(address), op.b_e5m2, b + 2 * k * op.n + n, op.n);
                 });
}

void decode_chunk(const std::uint8_t* bytes, bool fp16, float* out, std::uint32_t step) {
  std::uint16_t raw[8];
  std::memcpy(raw, bytes, sizeof raw);
  for (std::uint32_t i = 0; i < 8; ++i)
    out[i * step] = fp16 ? fp16_to_float(raw[i]) : bf16_to_float(raw[i]);
}

void read_a(const WgmmaOp& op, const Cta& cta, float* a) {
  if (op.fragments == nullptr) {
    const MatrixDescriptor d = MatrixDescriptor::decode(op.a, op.a_mn_major);
    for_each_chunk(d, kWgmmaRows, [&](std::uint32_t m, std::uint32_t k, std::uint32_t address) {
      decode_chunk(&cta.bytes[address - cta.base], op.fp16, a + m * kWgmmaDepth + k,
                   d.mn_major ? kWgmmaDepth : 1);
    });
    return;
  }
  // PTX, "Register Fragments", A of wgmma.m64nNk16: words (row, k), (row + 8, k), (row, k + 8),
  // (row + 8, k + 8).
  for (std::uint32_t t = 0; t < kWarpgroupThreads; ++t) {
    for (std::uint32_t w = 0; w < 4; ++w) {
      const std::uint32_t word = (*op.fragments)[t].word[w];
      const std::uint32_t row = t / 32 * 16 + t % 32 / 4 + w % 2 * 8, k = t % 4 * 2 + w / 2 * 8;
      for (std::uint32_t half = 0; half < 2; ++half) {
        const auto raw = static_cast<std::uint16_t>(word >> 16 * half);
        a[row * kWgmmaDepth + k + half] = op.fp16 ? fp16_to_float(raw) : bf16_to_float(raw);
      }
    }
  }
}

void read_b(const WgmmaOp& op, const Cta& cta, float* b) {
  const MatrixDescriptor d = MatrixDescriptor::decode(op.b, op.b_mn_major);
  for_each_chunk(d, op.n, [&](std::uint32_t n, std::uint32_t k, std::uint32_t address) {
    decode_chunk(&cta.bytes[address - cta.base], op.fp16, b + k * op.n + n, d.mn_major ? 1 : op.n);
  });
}

/// What an instruction says; the rest of an operation comes as it is issued.
void note(Thread& thread, WgmmaOp& op, bool from_registers) {
  if (op.n % 8 != 0 || op.n < 8 || op.n > kWgmmaColumns) {
    throw FaultError(FaultKind::kIllegal, fmt::format("wgmma with N = {}", op.n));
  }
  if (from_registers) op.fragments = std::make_unique<std::array<Words, kWarpgroupThreads>>();
  op.group = thread.wgmma_groups + 1;
  auto& ops = thread.cluster->history().ops;
  op.record = static_cast<std::uint32_t>(ops.size());
  const Agent first = thread.cluster->warp_agent(*thread.cta, thread.warp() / 4 * 4);
  ops.push_back({OpKind::kWgmma, 4, first, op.group, 0, thread.cta->block, thread.index});
}

bool same_instruction(const WgmmaOp& x, const WgmmaOp& y) {
  return x.a == y.a && x.b == y.b && x.n == y.n && x.keep == y.keep && x.fp16 == y.fp16 &&
         x.fp8 == y.fp8 && x.a_e5m2 == y.a_e5m2 && x.b_e5m2 == y.b_e5m2 &&
         x.a_mn_major == y.a_mn_major && x.b_mn_major == y.b_mn_major;
}

/// `said`: the instruction, in the words of an operation.
void issue(float* accumulators, WgmmaOp said, const std::uint32_t* fragments) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  Warpgroup& wg = warpgroup_of(thread);
  const std::uint32_t position = thread.wgmmas++ - wg.executed;
  const bool first = position == wg.ops.size();
  if (first) {
    note(thread, said, fragments != nullptr);
    wg.ops.push_back(std::move(said));
  } else if (const WgmmaOp& op = wg.ops[position];
             !same_instruction(op, said) || op.group != thread.wgmma_groups + 1 ||
             (op.fragments != nullptr) != (fragments != nullptr)) {
    throw FaultError(FaultKind::kIllegal, "wgmma differs between the threads of a warpgroup");
  }
  WgmmaOp& op = wg.ops[position];
  hold(thread, wg, op, accumulators, first);
  const std::uint32_t t = thread.index % kWarpgroupThreads;
  if (fragments != nullptr) std::copy_n(fragments, 4, (*op.fragments)[t].word.begin());
  if (thread.lane() == 0) op.known[t / kWarpThreads] = thread.clock.known;
  if (++op.arrived == kWarpgroupThreads) arm(thread, wg, op);
}

}  // namespace

// .sync.aligned: no lane passes before all lanes of its warp are here.
void wgmma_fence() {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  converge(thread, "wgmma_fence");
  thread.wgmma_fenced = true;
}

void wgmma(float* accumulators, std::uint32_t n, std::uint64_t a, const std::uint32_t* fragments,
           std::uint64_t b, bool keep, bool fp16, bool a_mn_major, bool b_mn_major) {
  WgmmaOp said;
  said.a = a;
  said.b = b;
  said.n = n;
  said.keep = keep;
  said.fp16 = fp16;
  said.a_mn_major = a_mn_major;
  said.b_mn_major = b_mn_major;
  issue(accumulators, std::move(said), fragments);
}

void wgmma_fp8(float* accumulators, std::uint32_t n, std::uint64_t a, std::uint64_t b, bool keep,
               bool a_e5m2, bool b_e5m2) {
  WgmmaOp said;
  said.a = a;
  said.b = b;
  said.n = n;
  said.keep = keep;
  said.fp8 = true;
  said.a_e5m2 = a_e5m2;
  said.b_e5m2 = b_e5m2;
  issue(accumulators, std::move(said), nullptr);
}

void wgmma_commit() {
  Thread& thread = me();
  ++thread.wgmma_groups;
  thread.group_ends.push_back(thread.wgmmas);
}

void wgmma_wait(std::uint32_t pending) {
  Thread& thread = me();
  thread.cluster->checkpoint(thread);
  Warpgroup& wg = warpgroup_of(thread);
  if (thread.wgmma_groups <= pending) return converge(thread, "wgmma_wait");
  const std::uint32_t group = thread.wgmma_groups - pending;
  const std::uint32_t needed = thread.group_ends[group - 1];
  while (wg.executed < needed) {
    wg.waiting.push_back(&thread);
    thread.cluster->block(thread, {WaitKind::kWgmma, needed, 0});
  }
  thread.clock.warp_done = std::max(thread.clock.warp_done, group);
  std::erase_if(thread.held, [&](const HeldAccumulators& held) {
    if (held.group > group) return false;
    give_accumulators(thread, held, wg.tiles[held.tile]);
    thread.wgmma_fenced = false;
    return true;
  });
}

void execute_wgmma(Warpgroup& wg) {
  thread_local float a[kWgmmaRows * kFp8Depth];
  thread_local float b[kFp8Depth * kWgmmaColumns];
  WgmmaOp op = std::move(wg.ops.front());
  wg.ops.pop_front();
  ++wg.executed;
  AccumulatorTile& tile = wg.tiles[op.tile];
  if (!op.keep) std::fill_n(tile.values.begin(), kWgmmaRows * tile.n, 0.0f);
  if (op.fp8) {
    const auto least = [](bool e5m2) { return e5m2 ? 0x1p-14F : 0x1p-6F; };
    read_fp8(op, *wg.cta, a, b);
    multiply_fp8(tile.values.data(), kWgmmaRows, op.n, a, least(op.a_e5m2), b, least(op.b_e5m2));
  } else {
    read_a(op, *wg.cta, a);
    read_b(op, *wg.cta, b);
    multiply(tile.values.data(), a, b, kWgmmaRows, op.n, op.fp16);
  }
  wg.cta->cluster->wake_all(wg.waiting);
}

}  // namespace wgrad::emu
