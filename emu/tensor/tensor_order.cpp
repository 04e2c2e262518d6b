#include "emu/tensor/tensor_order.hpp"

#include <fmt/format.h>

namespace wgrad::emu {
namespace {

// Pairs that execute in the order in which they were issued (PTX ISA, 9.7.16.6.2).
bool pipelined(const TensorOp& earlier, const TensorOp& later) {
  if (later.kind != TensorOpKind::kMultiply) return false;
  if (earlier.kind == TensorOpKind::kCopy) return true;
  return earlier.kind == TensorOpKind::kMultiply && earlier.accumulator == later.accumulator &&
         earlier.shape == later.shape;
}

}  // namespace

// A multiplication or copy is complete.
TensorOrder TensorHistory::after_issue(const TensorOp& earlier, const TensorView& view) const {
  if (view.fenced[earlier.pipe] >= earlier.number) return TensorOrder::kOrdered;
  return view.now[earlier.pipe] >= earlier.number ? TensorOrder::kNoAfter : TensorOrder::kUnordered;
}

// Lane `lane` of a load or store is complete.
TensorOrder TensorHistory::after_lane(const TensorOp& earlier, std::uint32_t lane,
                                      const TensorView& view) const {
  const Agent thread = earlier.agent + lane;
  const Clock issued = lane_clocks[earlier.lanes][lane];
  const Clock known = view.now[thread];
  if (known < issued) return TensorOrder::kUnordered;
  const auto& waits = earlier.kind == TensorOpKind::kLoad ? load_waits : store_waits;
  const Clock wait = waits[thread].first(issued);
  if (wait == FenceLog::kNever || wait > known) return TensorOrder::kNotWaited;
  if (thread == view.now.self) return TensorOrder::kOrdered;
  const Clock before = before_fences[thread].first(wait);
  if (before == FenceLog::kNever || before > known) return TensorOrder::kNoBefore;
  return view.fenced[thread] >= before ? TensorOrder::kOrdered : TensorOrder::kNoAfter;
}

TensorOrder TensorHistory::after_warp(const TensorOp& earlier, const TensorOp& later,
                                      const TensorView& view) const {
  if (later.of_warp() && later.agent == earlier.agent)  // each lane after its own
    return after_lane(earlier, view.now.self - earlier.agent, view);
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const TensorOrder order = after_lane(earlier, lane, view);
    if (order != TensorOrder::kOrdered) return order;
  }
  return TensorOrder::kOrdered;
}

TensorOrder TensorHistory::order(const TensorOp& earlier, const TensorOp& later,
                                 const TensorView& view) const {
  if (earlier.of_warp()) return after_warp(earlier, later, view);
  if (pipelined(earlier, later)) {
    if (earlier.pipe == later.pipe) return TensorOrder::kOrdered;
    // From another thread: around the barrier lie fences, but nobody waits for the operation.
    const Clock before = before_fences[earlier.agent].first(earlier.issued);
    if (before != FenceLog::kNever && before <= view.fenced[earlier.agent])
      return TensorOrder::kOrdered;
  }
  return after_issue(earlier, view);
}

TensorOrder TensorHistory::complete(const TensorOp& earlier, const TensorView& view) const {
  if (!earlier.of_warp()) {
    return view.now[earlier.pipe] >= earlier.number ? TensorOrder::kOrdered
                                                    : TensorOrder::kUnordered;
  }
  const auto& waits = earlier.kind == TensorOpKind::kLoad ? load_waits : store_waits;
  for (std::uint32_t lane = 0; lane < 32; ++lane) {
    const Clock issued = lane_clocks[earlier.lanes][lane];
    const Clock known = view.now[earlier.agent + lane];
    if (known < issued) return TensorOrder::kUnordered;
    if (!waits[earlier.agent + lane].covers(issued, known)) return TensorOrder::kNotWaited;
  }
  return TensorOrder::kOrdered;
}

std::string TensorHistory::describe(const TensorOp& op) const {
  constexpr const char* kVerbs[] = {"tcgen05_multiply", "tcgen05_copy_scales", "tensor_memory_load",
                                    "tensor_memory_store"};
  const char* verb = kVerbs[static_cast<std::size_t>(op.kind)];
  const std::uint32_t warp = op.thread / 32;
  if (op.of_warp()) return fmt::format("{} of CTA {} warp {}", verb, op.cta, warp);
  return fmt::format("{} #{} of CTA {} warp {} lane {}", verb, op.number, op.cta, warp,
                     op.thread % 32);
}

}  // namespace wgrad::emu
