// What comes after what in tensor memory. PTX ISA, 9.7.16.6 "Memory Consistency Model Semantics":
// tcgen05.mma, cp, ld and st are asynchronous. In order without more: pairs of 9.7.16.6.2
// ("Pipelined tcgen05 instructions"). Otherwise they are waited for: by a commit's mbarrier, by
// tcgen05.wait. From thread to thread tcgen05.fence::before_thread_sync (a commit stands for it)
// and fence::after_thread_sync lie around the barrier (9.7.16.6.3, 9.7.16.6.4).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/order/clocks.hpp"

namespace wgrad::emu {

inline constexpr std::uint32_t kNoOperation = ~std::uint32_t{0};

enum class TensorOpKind : std::uint8_t { kMultiply, kCopy, kLoad, kStore };

/// One operation on tensor memory: of a thread (multiply, copy) or of a warp (load, store).
struct TensorOp {
  TensorOpKind kind = TensorOpKind::kMultiply;
  std::uint32_t cta = 0;     // block, for reports
  std::uint32_t thread = 0;  // in the CTA
  Agent agent = 0;           // of the thread, or of the warp's lane 0
  // Multiplications and copies: complete for who knows `pipe` at `number`.
  Agent pipe = kNoAgent;
  Clock number = 0;
  Clock issued = 0;  // on the thread's clock
  static constexpr std::uint32_t kNoAccumulator = ~std::uint32_t{0};
  std::uint32_t accumulator = kNoAccumulator;  // address of D
  std::uint32_t shape = 0;                     // of the multiplication
  // Loads and stores: when each lane issued it.
  std::uint32_t lanes = 0;  // index in TensorHistory::lane_clocks

  bool of_warp() const { return kind == TensorOpKind::kLoad || kind == TensorOpKind::kStore; }
};

enum class TensorOrder : std::uint8_t {
  kOrdered,
  kUnordered,  // nothing orders the two, or it is not known to be complete
  kNotWaited,  // a load or store that tcgen05.wait has not covered
  kNoBefore,   // no fence before the barrier
  kNoAfter,    // no fence after it
};

/// What one thread knows: now, and when it last fenced after a barrier.
struct TensorView {
  ClockView now;
  const Clock* fenced = nullptr;
};

struct TensorHistory {
  std::vector<TensorOp> ops;
  std::vector<std::array<Clock, 32>> lane_clocks;
  // By thread agent.
  std::vector<FenceLog> load_waits;
  std::vector<FenceLog> store_waits;
  std::vector<FenceLog> before_fences;

  /// How `earlier` stands to operation `later` by a thread who knows `view`.
  TensorOrder order(const TensorOp& earlier, const TensorOp& later, const TensorView& view) const;
  /// The same for a thread that only asks whether all is over: fences after a barrier do not count.
  TensorOrder complete(const TensorOp& earlier, const TensorView& view) const;
  std::string describe(const TensorOp& op) const;

 private:
  TensorOrder after_issue(const TensorOp& earlier, const TensorView& view) const;
  TensorOrder after_lane(const TensorOp& earlier, std::uint32_t lane, const TensorView& view) const;
  TensorOrder after_warp(const TensorOp& earlier, const TensorOp& later,
                         const TensorView& view) const;
};

}  // namespace wgrad::emu
