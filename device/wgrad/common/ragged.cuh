// K-major operands in ragged order: expert blocks (rows, k_e) of row pitch k_e, one after the
// other. A row may start at any token, but shared memory is filled in units of 16 bytes: the stage
// holds each row from the unit that it starts in, and align.cuh moves it to its place.
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/shared/schedule.hpp"

namespace wgrad::device {

// One expert's block of one operand, in elements from the operand's start, which lies on 16 bytes.
struct RaggedBlock {
  u64 first;   // of element (0, 0)
  i32 extent;  // rows in the matrix: M or N
  i32 length;  // k_e: row pitch and number of tokens

  WGRAD_DEVICE RaggedBlock(i32 rows, TokenRange tokens)
      : first(u64(rows) * u64(tokens.begin)), extent(rows), length(tokens.end - tokens.begin) {}

  WGRAD_DEVICE u64 row_start(i32 row) const { return first + u64(row) * u64(length); }
  // Every row starts on 16 bytes.
  WGRAD_DEVICE bool is_aligned(i32 unit) const {
    return first % u32(unit) == 0 && length % unit == 0;
  }
};

// Stages in which every row of the block ends, wherever it starts.
template <KernelConfig auto kConfig>
WGRAD_DEVICE i32 ragged_blocks(i32 m, i32 n, TokenRange tokens) {
  constexpr i32 kUnit = unit_tokens(bits_of(kConfig.input));
  constexpr u32 kRow = u32(row_tokens(bits_of(kConfig.input)));
  if (tokens.end == tokens.begin) return 0;
  const bool aligned =
      (kConfig.a != OperandLayout::kKMajorRagged || RaggedBlock(m, tokens).is_aligned(kUnit)) &&
      (kConfig.b != OperandLayout::kKMajorRagged || RaggedBlock(n, tokens).is_aligned(kUnit));
  const u32 last = u32(tokens.end - tokens.begin) - 1 + (aligned ? 0u : u32(kUnit) - 1);
  return i32(last / kRow) + 1;
}

}  // namespace wgrad::device
