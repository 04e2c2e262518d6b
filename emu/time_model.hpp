// How long things take on the emulated machine when it keeps time (Timing::kModel), in cycles of an
// SM: a model, for pictures of who waits for whom, not a prediction. Each figure names its source.
#pragma once

#include <cstdint>

namespace wgrad::emu {

struct TimeModel {
  /// From one instruction of a warp to its next one that depends on it (Luo et al. 2024,
  /// "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture": 4 for integers on Hopper).
  static constexpr std::uint64_t kIssue = 4;
  /// Latency of an ordinary load: shared memory, and global memory that hits in L2 (the same).
  static constexpr std::uint64_t kSharedLoad = 29;
  static constexpr std::uint64_t kGlobalLoad = 270;
  /// From an arrival, or a byte that lands, to the warp that waited for it.
  static constexpr std::uint64_t kWake = 20;

  // "Traces": calibrated on wgrad trace of an H200
  // (docs/notes/2026-11-30-model-of-time-beside-a-gpu.md).

  /// A claim by atomic, all CTAs at once: traces, from a kernel's start to its first tile.
  static constexpr std::uint64_t kAtomic = 800;
  /// What the instruction costs its thread: traces, the shortest spans around each.
  static constexpr std::uint64_t kTryWait = 68;
  static constexpr std::uint64_t kBulkWait = 40;
  static constexpr std::uint64_t kCopyIssue = 84;
  static constexpr std::uint64_t kGlobalStore = 50;
  /// fence.proxy.async, together with the conversions and stores of an output box: traces.
  static constexpr std::uint64_t kProxyFence = 180;

  /// 4096 dense 16-bit operations a cycle and SM (H100 white paper: 989.4 TFLOP/s, 132 SMs, 1830
  /// MHz): m64nNk16 takes N / 2.
  static constexpr std::uint64_t multiply_cycles(std::uint32_t n) { return n / 2; }
  /// From the last of a chain of wgmmas to its waiter (as kWake, and the pipeline's depth:
  /// assumed).
  static constexpr std::uint64_t kMultiplyLatency = 32;

  /// tcgen05.mma, 32 bytes of K: half a cycle for a column of 128 rows, or 128 bytes of operands a
  /// cycle (a model within 8 % of measurements of a B200 by others:
  /// docs/notes/2026-12-01-the-emulated-blackwell-machine.md).
  static constexpr std::uint64_t tcgen05_cycles(std::uint32_t rows, std::uint32_t n,
                                                std::uint32_t ctas) {
    const std::uint64_t math = rows == 64 && ctas == 2 ? n / 4 : n / 2;
    const std::uint64_t bytes = (std::uint64_t{rows} + n / ctas) * 32;
    return math > bytes / 128 ? math : bytes / 128;
  }
  static constexpr std::uint64_t kScaleCopy = 4;         // 512 bytes at 128 a cycle: assumed
  static constexpr std::uint64_t kTcgen05Latency = 136;  // one alone to its waiter: the same source

  /// Operands from L2, a cycle and SM; the second where rows begin off a 128-byte line (the
  /// planner's rates, fitted to 36 measured shapes: src/kernels/sm90/cost.cpp). A multicast box
  /// costs each of its CTAs its share.
  static constexpr std::uint64_t kLoadBytes = 64;
  static constexpr std::uint64_t kSplitLoadBytes = 28;
  /// From a box's issue to its first byte, out of L2: traces.
  static constexpr std::uint64_t kLoadLatency = 280;

  /// A bulk store reads shared memory at its full width, and leaves at the planner's rate; a
  /// reduce-add, which reads and writes, at half of it.
  static constexpr std::uint64_t kStoreReadBytes = 128;
  static constexpr std::uint64_t kStoreBytes = 32;
  static constexpr std::uint64_t kAddBytes = 16;
  static constexpr std::uint64_t kStoreLatency = 120;  // traces: the wait for the last stores

  /// Cycles that a device thread may run ahead of the others: no effect on results, fewer switches.
  static constexpr std::uint64_t kSlack = 16;

  static constexpr double kCyclesPerNanosecond = 1.83;
};

/// Something that an engine of a CTA did.
struct EngineSpan {
  enum class Engine : std::uint8_t { kLoad, kMultiply, kStore };
  Engine engine = Engine::kLoad;
  std::uint32_t cta = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t amount = 0;  ///< bytes, or columns of a wgmma
};

}  // namespace wgrad::emu
