// The instructions that threads have issued to the tensor cores and that are still to happen: one
// queue for each thread that issues.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "emu/tensor/tensor_memory.hpp"
#include "wgrad/arch/emu/tcgen05_instructions.hpp"

namespace wgrad::emu {

struct Cta;
struct Thread;

inline constexpr std::uint32_t kMaxTensorPipes = 4;  // threads of a CTA that issue

enum class TensorWorkKind : std::uint8_t { kMultiply, kCopy, kCommit };

struct TensorWork {
  TensorWorkKind kind = TensorWorkKind::kMultiply;
  Multiplication multiplication;
  std::uint32_t ctas = 1;
  std::uint32_t column = 0;   // copy
  std::uint64_t atom = 0;     // copy: descriptor
  std::uint32_t barrier = 0;  // commit: offset in each CTA
  std::uint32_t mask = 0;     // commit: CTAs
  Clock number = 0;           // of the operation, or the last one before the commit
  SnapshotRef known;          // commit: what the thread knew
};

struct TensorPipe {
  Cta* cta = nullptr;
  Thread* thread = nullptr;
  Agent agent = 0;
  Clock issued = 0;  // operations
  std::deque<TensorWork> work;
};

/// What the CTAs of a cluster share.
struct TensorState {
  TensorHistory history;
  std::deque<TensorPipe> pipes;
  std::uint32_t ctas = 0;  // cta_group that the kernel uses; 0: none so far
};

/// An allocation (or the return of one) that a warp waits for.
struct TensorRequest {
  bool open = false;
  std::uint32_t slot = 0;  // offset in the CTA
  std::uint32_t warp = 0;
  TensorAllocation columns;
};

struct TensorAllocator {
  TensorRequest allocate;
  TensorRequest free;
  std::uint64_t allocated = 0;  // requests that were granted
  std::uint64_t stored = 0;     // of these, whose address is in shared memory
  std::uint64_t freed = 0;
  std::uint32_t address = 0;  // of the last allocation
  std::vector<Thread*> waiting;
  Agent last = kNoAgent;  // who wrote the address, and when
  Clock done = 0;
};

/// Registers that a load in flight writes.
struct HeldLoad {
  float* registers = nullptr;
  LaneShape shape = LaneShape::k32x32b;
  std::uint32_t address = 0;
  std::uint32_t count = 0;
  std::vector<std::uint32_t> words;  // captured, or none: read at the wait
};

/// A store in flight that has not been done.
struct HeldStore {
  std::uint32_t address = 0;
  std::vector<std::uint32_t> words;
};

}  // namespace wgrad::emu
