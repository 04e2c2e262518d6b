// A CTA's tensor memory: 128 lanes by 512 columns of 32-bit words, what of it is allocated, and a
// shadow of who wrote and who read it. PTX ISA, 9.7.16.1 "Tensor Memory", 9.7.16.7 (allocation),
// 9.7.16.6 "Memory Consistency Model". The order is that of the program's synchronisation
// (tensor_order.hpp), as for shared memory.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "emu/random.hpp"
#include "emu/tensor/tensor_order.hpp"

namespace wgrad::emu {

inline constexpr std::uint32_t kTensorLanes = 128;
inline constexpr std::uint32_t kTensorColumns = 512;
inline constexpr std::uint32_t kLanesOfCell = 16;   // the shadow's resolution
inline constexpr std::uint32_t kQuarterLanes = 32;  // a warp's share

/// Lanes [lane, lane + lanes), multiples of 16, columns [column, column + columns).
struct TensorRange {
  std::uint32_t lane = 0;
  std::uint32_t lanes = 0;
  std::uint32_t column = 0;
  std::uint32_t columns = 0;
};

constexpr std::uint32_t lane_of(std::uint32_t address) {
  return address >> 16;
}
constexpr std::uint32_t column_of(std::uint32_t address) {
  return address & 0xffff;
}

struct TensorAllocation {
  std::uint32_t column = 0;
  std::uint32_t columns = 0;
};

class TensorMemory {
 public:
  explicit TensorMemory(std::uint32_t block) : block_(block) {}

  std::uint32_t* words(std::uint32_t lane) { return &words_[std::size_t{lane} * kTensorColumns]; }
  const std::uint32_t* words(std::uint32_t lane) const {
    return &words_[std::size_t{lane} * kTensorColumns];
  }

  /// Throws unless the range lies in this CTA's memory, in columns that are allocated.
  void require_allocated(const TensorRange& range, const std::string& who) const;

  enum class Mode : std::uint8_t { kRead, kWrite, kReadWrite };
  /// Notes an access. `order` says how an earlier operation stands to this one. Throws for a race,
  /// a missing fence, words that nobody wrote.
  void touch(const TensorRange& range, Mode mode, std::uint32_t operation,
             const TensorHistory& history, const std::function<TensorOrder(std::uint32_t)>& order);
  /// Throws unless all that has been done to the columns is complete, as `order` says.
  void require_idle(const TensorAllocation& columns, const TensorHistory& history,
                    const std::function<TensorOrder(std::uint32_t)>& order) const;

  const std::vector<TensorAllocation>& allocations() const { return allocations_; }
  /// A free place, wherever the dice say; nothing: none is free.
  std::optional<std::uint32_t> place(std::uint32_t columns, Random& random) const;
  void allocate(const TensorAllocation& allocation);
  void deallocate(const TensorAllocation& allocation);
  bool is_free(const TensorAllocation& allocation) const;

  // Rules of allocation.
  std::uint32_t least_columns = 0;  // of an allocation so far
  bool relinquished = false;

 private:
  struct Cell {
    std::uint32_t writer = kNoOperation;
    std::vector<std::uint32_t> readers;
  };
  static constexpr std::uint32_t kCellRows = kTensorLanes / kLanesOfCell;

  Cell& cell(std::uint32_t row, std::uint32_t column) {
    return cells_[std::size_t{row} * kTensorColumns + column];
  }
  [[noreturn]] void refuse(const TensorHistory& history, std::uint32_t earlier, std::uint32_t later,
                           TensorOrder order, std::uint32_t row, std::uint32_t column,
                           bool earlier_wrote) const;

  std::uint32_t block_;
  std::vector<std::uint32_t> words_;  // none before the first allocation
  std::vector<Cell> cells_;
  std::vector<TensorAllocation> allocations_;
};

}  // namespace wgrad::emu
