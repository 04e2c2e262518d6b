#include "emu/tensor/tensor_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emu/fault.hpp"

namespace wgrad::emu {
namespace {

constexpr std::uint32_t kPoison = 0xffffffff;  // NaN

const char* why(TensorOrder order) {
  switch (order) {
    case TensorOrder::kUnordered:
      return "and nothing orders the two (a commit that follows it and a wait for its mbarrier, or "
             "a barrier of the threads)";
    case TensorOrder::kNotWaited:
      return "without tensor_memory_wait_loads or _stores by its warp in between";
    case TensorOrder::kNoBefore:
      return "without tcgen05_fence_before_sync before the barrier";
    case TensorOrder::kNoAfter:
      return "without tcgen05_fence_after_sync after the barrier";
    case TensorOrder::kOrdered:
      break;
  }
  return "";
}

FaultKind kind_of(TensorOrder order) {
  return order == TensorOrder::kNoBefore || order == TensorOrder::kNoAfter ? FaultKind::kFence
                                                                           : FaultKind::kRace;
}

// Asks once for neighbours that the same operation touched.
class Memory {
 public:
  explicit Memory(const std::function<TensorOrder(std::uint32_t)>& order) : order_(order) {}
  TensorOrder operator()(std::uint32_t operation) {
    for (std::size_t i = 0; i < known_.size(); ++i) {
      if (known_[i] == operation) return verdict_[i];
    }
    next_ = (next_ + 1) % known_.size();
    known_[next_] = operation;
    return verdict_[next_] = order_(operation);
  }

 private:
  const std::function<TensorOrder(std::uint32_t)>& order_;
  std::array<std::uint32_t, 4> known_{kNoOperation, kNoOperation, kNoOperation, kNoOperation};
  std::array<TensorOrder, 4> verdict_{};
  std::size_t next_ = 0;
};

// Whether who knows of `later` being over knows it of `earlier` too.
bool succeeds(const TensorOp& later, const TensorOp& earlier) {
  if (later.kind != earlier.kind) return false;
  return later.of_warp() ? later.agent == earlier.agent : later.pipe == earlier.pipe;
}

}  // namespace

void TensorMemory::require_allocated(const TensorRange& r, const std::string& who) const {
  const auto in = [&](std::uint32_t column) {
    return std::any_of(allocations_.begin(), allocations_.end(), [&](const TensorAllocation& a) {
      return column >= a.column && column < a.column + a.columns;
    });
  };
  bool inside = r.lane + r.lanes <= kTensorLanes && r.column + r.columns <= kTensorColumns;
  for (std::uint32_t c = r.column; inside && c < r.column + r.columns; ++c) inside = in(c);
  if (inside) return;
  throw FaultError(
      FaultKind::kOutOfBounds,
      fmt::format("{} reaches lanes {} to {}, columns {} to {} of tensor memory of CTA {}, which "
                  "are not all allocated",
                  who, r.lane, r.lane + r.lanes - 1, r.column, r.column + r.columns - 1, block_));
}

void TensorMemory::refuse(const TensorHistory& history, std::uint32_t earlier, std::uint32_t later,
                          TensorOrder order, std::uint32_t row, std::uint32_t column,
                          bool earlier_wrote) const {
  const std::string second =
      later == kNoOperation ? "freed" : "then used by " + history.describe(history.ops[later]);
  throw FaultError(
      kind_of(order),
      fmt::format("tensor memory of CTA {} lane {} column {}: {} by {}, {}, {}", block_,
                  row * kLanesOfCell, column, earlier_wrote ? "written" : "read",
                  history.describe(history.ops[earlier]), second, why(order)));
}

void TensorMemory::touch(const TensorRange& r, Mode mode, std::uint32_t operation,
                         const TensorHistory& history,
                         const std::function<TensorOrder(std::uint32_t)>& order) {
  require_allocated(r, history.describe(history.ops[operation]));
  Memory asked(order);
  const auto check = [&](std::uint32_t earlier, std::uint32_t row, std::uint32_t column,
                         bool wrote) {
    const TensorOrder verdict = asked(earlier);
    if (verdict != TensorOrder::kOrdered)
      refuse(history, earlier, operation, verdict, row, column, wrote);
  };
  for (std::uint32_t row = r.lane / kLanesOfCell; row < (r.lane + r.lanes) / kLanesOfCell; ++row) {
    for (std::uint32_t column = r.column; column < r.column + r.columns; ++column) {
      Cell& c = cell(row, column);
      if (mode != Mode::kWrite && c.writer == kNoOperation) {
        throw FaultError(FaultKind::kUninitialised,
                         fmt::format("tensor memory of CTA {} lane {} column {}: read by {}, "
                                     "written by nobody",
                                     block_, row * kLanesOfCell, column,
                                     history.describe(history.ops[operation])));
      }
      if (c.writer != kNoOperation && c.writer != operation) check(c.writer, row, column, true);
      if (mode == Mode::kRead) {
        std::erase_if(c.readers, [&](std::uint32_t reader) {
          return succeeds(history.ops[operation], history.ops[reader]);
        });
        c.readers.push_back(operation);
        continue;
      }
      for (const std::uint32_t reader : c.readers) {
        if (reader != operation) check(reader, row, column, false);
      }
      c.readers.clear();
      c.writer = operation;
    }
  }
}

void TensorMemory::require_idle(const TensorAllocation& a, const TensorHistory& history,
                                const std::function<TensorOrder(std::uint32_t)>& order) const {
  Memory asked(order);
  for (std::uint32_t row = 0; row < kCellRows; ++row) {
    for (std::uint32_t column = a.column; column < a.column + a.columns; ++column) {
      const Cell& c = cells_[std::size_t{row} * kTensorColumns + column];
      const auto check = [&](std::uint32_t earlier, bool wrote) {
        const TensorOrder verdict = asked(earlier);
        if (verdict != TensorOrder::kOrdered)
          refuse(history, earlier, kNoOperation, verdict, row, column, wrote);
      };
      if (c.writer != kNoOperation) check(c.writer, true);
      for (const std::uint32_t reader : c.readers) check(reader, false);
    }
  }
}

bool TensorMemory::is_free(const TensorAllocation& wanted) const {
  return std::none_of(allocations_.begin(), allocations_.end(), [&](const TensorAllocation& a) {
    return wanted.column < a.column + a.columns && a.column < wanted.column + wanted.columns;
  });
}

// Any place at a multiple of the size, so that what fits in all fits in any order.
std::optional<std::uint32_t> TensorMemory::place(std::uint32_t columns, Random& random) const {
  std::vector<std::uint32_t> places;
  for (std::uint32_t at = 0; at + columns <= kTensorColumns; at += columns) {
    if (is_free({at, columns})) places.push_back(at);
  }
  if (places.empty()) return std::nullopt;
  return places[random.below(static_cast<std::uint32_t>(places.size()))];
}

void TensorMemory::allocate(const TensorAllocation& a) {
  words_.resize(std::size_t{kTensorLanes} * kTensorColumns, kPoison);
  cells_.resize(std::size_t{kCellRows} * kTensorColumns);
  allocations_.push_back(a);
  for (std::uint32_t lane = 0; lane < kTensorLanes; ++lane)
    std::fill_n(words(lane) + a.column, a.columns, kPoison);
  for (std::uint32_t row = 0; row < kCellRows; ++row) {
    for (std::uint32_t c = a.column; c < a.column + a.columns; ++c) cell(row, c) = {};
  }
}

void TensorMemory::deallocate(const TensorAllocation& a) {
  std::erase_if(allocations_, [&](const TensorAllocation& x) { return x.column == a.column; });
}

}  // namespace wgrad::emu
