// What an operand and an output are made of and how they lie in memory, for any family.
#pragma once

#include "wgrad/shared/types.hpp"

namespace wgrad::shared {

enum class InputType : u8 { kBf16, kFp16, kFp8 };  // kFp8: of one family, which says more
enum class OutputType : u8 { kBf16, kFp16, kFp32 };
enum class OutputMode : u8 { kDense, kDiscrete };

// How one operand lies in memory, and so how a stage of it is loaded.
enum class OperandLayout : u8 {
  kMnMajorBlocked,  // M or N contiguous, extent % 64 == 0: one 5-D ragged load a stage
  kMnMajor,         // M or N contiguous, any extent: one 4-D ragged load per 64 columns
  kKMajor,  // tokens contiguous, one 2-D tensor: a plain 2-D load, foreign tokens masked in shared
            // memory
  kKMajorRagged,  // tokens contiguous, expert blocks of row pitch k_e: copies by the threads
                  // of the producer warpgroup
};

// As C++ spells a value; null: there is no such value. They begin at 0 and have no gaps.
constexpr const char* name_of(InputType type) {
  switch (type) {
    case InputType::kBf16:
      return "InputType::kBf16";
    case InputType::kFp16:
      return "InputType::kFp16";
    case InputType::kFp8:
      return "InputType::kFp8";
  }
  return nullptr;
}
constexpr const char* name_of(OutputType type) {
  switch (type) {
    case OutputType::kBf16:
      return "OutputType::kBf16";
    case OutputType::kFp16:
      return "OutputType::kFp16";
    case OutputType::kFp32:
      return "OutputType::kFp32";
  }
  return nullptr;
}
constexpr const char* name_of(OutputMode mode) {
  switch (mode) {
    case OutputMode::kDense:
      return "OutputMode::kDense";
    case OutputMode::kDiscrete:
      return "OutputMode::kDiscrete";
  }
  return nullptr;
}
constexpr const char* name_of(OperandLayout layout) {
  switch (layout) {
    case OperandLayout::kMnMajorBlocked:
      return "OperandLayout::kMnMajorBlocked";
    case OperandLayout::kMnMajor:
      return "OperandLayout::kMnMajor";
    case OperandLayout::kKMajor:
      return "OperandLayout::kKMajor";
    case OperandLayout::kKMajorRagged:
      return "OperandLayout::kKMajorRagged";
  }
  return nullptr;
}

inline constexpr i32 kSwizzleBytes = 128;  // of a row in shared memory
inline constexpr i32 kTileK = 64;          // tokens of such a K-major row of 16-bit elements
inline constexpr i32 kTokenAlignment = 8;  // tokens in 16 bytes: where a K-major box may start
inline constexpr i32 kWindowTokens = 16;   // K of one 16-bit MMA: what it sums at once
inline constexpr i32 kWarpgroupThreads = 128;
inline constexpr u32 kWarpgroupWarps = kWarpgroupThreads / 32;

// Of an operand's elements in memory.
constexpr i32 bits_of(InputType type) {
  return type == InputType::kFp8 ? 8 : 16;
}
// Tokens of a K-major row that take up 128 bytes in shared memory, 16 bytes, and one MMA.
constexpr i32 row_tokens(i32 bits) {
  return kSwizzleBytes * 8 / bits;
}
constexpr i32 unit_tokens(i32 bits) {
  return 128 / bits;
}
constexpr i32 window_tokens(i32 bits) {
  return 256 / bits;
}
static_assert(row_tokens(16) == kTileK && unit_tokens(16) == kTokenAlignment &&
              window_tokens(16) == kWindowTokens);
constexpr i32 bytes_of(i32 elements, i32 bits) {
  return elements * bits / 8;
}

constexpr bool is_mn_major(OperandLayout layout) {
  return layout == OperandLayout::kMnMajorBlocked || layout == OperandLayout::kMnMajor;
}

constexpr i32 bytes_of(OutputType type) {
  return type == OutputType::kFp32 ? 4 : 2;
}

// The copy engine writes whole 16-byte units of an output's row.
constexpr bool needs_partial_columns(OutputType type, i64 n) {
  return n * bytes_of(type) % 16 != 0;
}

// Columns of the last tile in whole 64s, where these are fewer than a tile's.
constexpr i32 tail_columns(i32 tile_n, i64 n) {
  const i32 rest = static_cast<i32>(n % tile_n);
  const i32 columns = (rest + 63) / 64 * 64;
  return columns == tile_n ? 0 : columns;
}

}  // namespace wgrad::shared
